"""Small data that every family has drawn itself."""

import numpy as np
import pandas as pd
import xarray

import tunamh
from tunamh.targets.families.registry import FAMILIES

PARAMETERS = {
    "scale": 0.8,
    "df": 5.0,
    "shape": 2.0,
    "dispersion": 2.0,
    "precision": 6.0,
    "inflation": 0.25,
    "positive": 0.7,
    "delta": 1.345,
}
CUTPOINTS = np.array([[[-1.0, 0.5, 2.0]]])
EVERY = [name for name in FAMILIES if name not in ("ZeroInflated", "Hurdle")]
FORMULA = "y ~ x + a"


def families():
    """One of every family, and of every law of counts that may have more zeros or others."""
    found = {name: FAMILIES[name]() for name in EVERY}
    found["PiecewiseExponential"] = FAMILIES["PiecewiseExponential"](pieces=(0.5, 1.5))
    for outer in ("ZeroInflated", "Hurdle"):
        found |= {word: make() for word, make in FAMILIES[outer].words().items()}
    return found


def parameters(family):
    known = {name: np.array([[value]]) for name, value in PARAMETERS.items()}
    known["log_hazard"] = np.array([[[-1.0, 0.0, 0.5]]])
    return {**known, **{name: np.array([[value]]) for name, value in family.known_parameters().items()}}


def predictors(family, x, a):
    """(1, rows) or (1, rows, classes - 1)."""
    eta = (0.4 + 0.5 * x + np.array([0.0, 0.3, -0.3, 0.1])[a])[None]
    return np.stack([eta, 0.2 - 0.5 * eta], -1) if family.coefficients_per_class else eta


def own_data(family, n, rng):
    x, a = rng.normal(size=n), rng.integers(4, size=n)
    law = family.response_distribution()
    y = law.draw(rng, predictors(family, x, a), {**parameters(family), "cutpoint": CUTPOINTS})[0]
    return pd.DataFrame({"x": x, "a": np.array(list("pqrs"))[a], "y": y.astype(int) if law.of_classes else y})


def sampled(formula, table, family="gaussian", draws=100, **given):
    target = tunamh.regression(formula, table, family=family, **given)
    return tunamh.sample(target, draws=draws, tune=300, rng=1, progressbar=False)


def of_one_draw(tree, draw=5):
    """A result that knows its parameters: data simulated from it are of a model that is right."""
    posterior = tree["posterior"].to_dataset()
    one = posterior.isel(chain=[0], draw=[draw]).assign_attrs(posterior.attrs)
    return xarray.DataTree.from_dict({"posterior": one})
