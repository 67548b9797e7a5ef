"""Results whose draws are random numbers: what a formula's posterior looks like, without a run."""

import json

import numpy as np
import xarray

from tunamh.results.layout import CORRELATION, GROUP_SCALE, PARAMETER, ROLE, layout_of

PARAMETERS = {"scale": 0.7, "df": 5.0, "shape": 1.8, "dispersion": 2.5, "precision": 4.0, "positive": 0.6}
PARAMETERS |= {"inflation": 0.3, "delta": 1.3, "log_hazard": 0.2}


def drawn_result(target, draws=20, chains=2, spread=0.3, seed=5):
    """Coefficients and effects are normal; scales and shapes lie about `PARAMETERS`; cutpoints are in order."""
    rng = np.random.default_rng(seed)
    layout = layout_of(target, target.variables)
    numbers = spread * rng.standard_normal((chains, draws, layout.size))
    found = layout.dataset(numbers, {"chain": np.arange(chains), "draw": np.arange(draws)})
    for name, values in found.data_vars.items():
        role = values.attrs.get(ROLE)
        if role == PARAMETER and values.attrs["term"] == "cutpoint":
            found[name] = values.copy(data=np.sort(values.values + np.linspace(-1, 1, values.shape[-1]), axis=-1))
        elif role == PARAMETER and values.attrs["term"] in PARAMETERS:
            middle = PARAMETERS[values.attrs["term"]]
            found[name] = values.copy(data=middle * np.exp(0.2 * values.values))
        elif role == GROUP_SCALE:
            found[name] = values.copy(data=0.5 * np.exp(values.values))
        elif role == CORRELATION:
            found[name] = values.copy(data=np.tanh(values.values))
    found.attrs = {"model": json.dumps(target.description)}
    return xarray.DataTree.from_dict({"posterior": found})
