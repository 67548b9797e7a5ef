"""Simulation-based calibration of curves in further predictors, and in a model that is not linear (Talts et al. 2018).

As in `test_smooth_calibration`: ranks of curves at some points, of their scales and of intercepts.
`TUNAMH_SBC=200 pytest -s tests/statistical/test_further_curves_calibration.py` runs so many data sets for each case.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from test_smooth_calibration import ACROSS, AT, DATA_SETS, DRAWS, N_ROWS, at, hold_uniform, least_p_value

import tunamh
from tunamh import HalfStudentT, Normal

pytestmark = pytest.mark.slow
INTERCEPT, SLOPE = 0.7, 0.8
_rng = np.random.default_rng(41)
TABLE = pd.DataFrame({"x": _rng.gamma(3, 1, N_ROWS), "z": _rng.uniform(0, 1, N_ROWS)})
TABLE["dose"] = _rng.choice([0.3, 1.0, 3.0, 10.0, 30.0], N_ROWS)


def emax(top, log_ed50, y, dose):
    return 0.5 * (y - top * dose / (np.exp(log_ed50) + dose)) ** 2


def _gaussian(rng, eta, log_scale):
    return eta + np.exp(log_scale) * rng.standard_normal(N_ROWS), {}


def _counts(rng, eta, logit, dispersion=None):
    mean = np.exp(np.minimum(eta, 12.0))
    more = {} if dispersion is None else {"alpha": dispersion}
    mean = mean if dispersion is None else mean * rng.gamma(dispersion, 1 / dispersion, N_ROWS)
    return np.where(rng.random(N_ROWS) < 1 / (1 + np.exp(-logit)), 0, rng.poisson(mean)).astype(float), more


def _binomial_counts(rng, eta, logit):
    return _counts(rng, eta, logit, np.exp(1.0 + 0.5 * rng.standard_normal()))


def _emax(rng, top, log_ed50):
    dose = TABLE["dose"].to_numpy()
    return top * dose / (np.exp(log_ed50) + dose) + rng.standard_normal(N_ROWS), {}


@dataclass(frozen=True)
class Case:
    """``formulas`` of the predictors; the main one's name is empty. ``widths`` of the scales, by predictor and term.

    ``centres`` are prior means of intercepts, where these are not 0.
    """

    formulas: dict[str, str]
    family: Any
    respond: Callable[..., Any]
    widths: dict[str, float]
    centres: dict[str, float] = field(default_factory=dict)

    @property
    def lines(self) -> list[str]:
        """Of curves that have one."""
        cyclic = [of for of, right in self.formulas.items() if "cyclic" in right]
        return [name for name in self.widths if not any(of and name.startswith(of) for of in cyclic)]


DISPERSION = tunamh.priors.LogNormal(mean=1.0, scale=0.5)
CASES = {
    "a scale": Case({"": "1", "scale": "s(z, cyclic=True)"}, tunamh.Gaussian(), _gaussian, {"scale s(z)": 0.6}),
    "a mean and its scale": Case(
        {"": "s(x, k=7)", "scale": "s(z, k=6, cyclic=True)"},
        tunamh.Gaussian(),
        _gaussian,
        {"s(x)": 1.0, "scale s(z)": 0.02},
    ),
    "inflation": Case(
        {"": "1", "inflation": "s(x, k=8)"},
        tunamh.ZeroInflated(tunamh.Poisson()),
        _counts,
        {"inflation s(x)": 1.0},
        {"": 1.0},  # with hardly a count that is not zero, chains as short as these do not mix
    ),
    "inflation of a negative binomial": Case(
        {"": "s(z, k=6)", "inflation": "s(x, k=6)"},
        tunamh.ZeroInflated(tunamh.NegativeBinomial(DISPERSION)),
        _binomial_counts,
        {"s(z)": 0.3, "inflation s(x)": 0.7},
    ),
    "not linear": Case(
        {"top": "s(z, k=7)", "log_ed50": "s(x, k=6)"},
        None,
        _emax,
        {"top s(z)": 1.0, "log_ed50 s(x)": 0.3},
        {"top": 6.0},
    ),
}


def model(case, y, wrong=1.0):
    """``wrong`` times the width of the scales' priors is what the model believes."""
    prior = {name: HalfStudentT(3, wrong * width) for name, width in case.widths.items()}
    prior |= {f"{name}[linear]": Normal(scale=SLOPE) for name in case.lines}
    prior |= {
        f"{of} Intercept".strip(): Normal(mean=case.centres.get(of, 0.0), scale=INTERCEPT) for of in case.formulas
    }
    prior |= {} if case.family is not None else {of: prior.pop(f"{of} Intercept") for of in case.formulas}
    further = {of: f"~ {right}" for of, right in case.formulas.items() if of}
    table = TABLE.assign(y=y)
    if case.family is None:
        return tunamh.nonlinear(emax, table, further, prior=prior)
    formula = f"y ~ {case.formulas['']}"
    return tunamh.regression(formula, table, family=case.family, predictors=further, prior=prior)


def sides_of(target, case):
    return {of: target.formula.others[of] if of else target.formula.side for of in case.formulas}


def truth_of(rng, of, side, case):
    """A predictor, and what is ranked of it."""
    eta, ranked = np.full(N_ROWS, case.centres.get(of, 0.0) + INTERCEPT * rng.standard_normal()), []
    ranked.append((f"{of}_Intercept".strip("_"), None, [eta[0]]))
    for curve in side.curves:
        width = case.widths[f"{of} {curve.name}".strip()]
        scale = np.abs(stats.t.rvs(3, scale=width, size=1, random_state=rng))
        c = rng.standard_normal(curve.each) * np.where(curve.shares[:, 0] > 0, scale, SLOPE)
        points = at(curve, AT, ACROSS)
        called = f"{of}_{curve.name}".strip("_")
        ranked += [(called, points, points @ c), (f"{called}_sigma", None, scale)]
        eta = eta + curve.columns(TABLE[str(curve.asked.x)].to_numpy()) @ c
    return eta, ranked


def ranks(case, wrong=1.0):
    rng, found = np.random.default_rng(43), []
    sides = sides_of(model(case, np.arange(N_ROWS) % 2.0), case)
    for _ in range(DATA_SETS):
        drawn = [truth_of(rng, of, side, case) for of, side in sides.items()]
        y, extras = case.respond(rng, *(eta for eta, _ in drawn))
        if len(np.unique(y)) < 3:  # as rare as it is, it says nothing of the kernel
            continue
        target = model(case, y, wrong)
        tree = sampled(target, rng)
        if tree is None:
            continue
        row = [float((tree.posterior[name].values[0] < value).sum()) for name, value in extras.items()]
        for name, points, values in (one for _, ranked in drawn for one in ranked):
            of = tree.posterior[as_results_call(name)].values[0].reshape(DRAWS, -1)
            row += ((of if points is None else of @ points.T) < values).sum(axis=0).tolist()
        found.append(row)
    return np.array(found)


def sampled(target, rng):
    """None where the posterior has several modes: that is told by the data alone, so that ranks stay uniform."""
    seed = rng.integers(1 << 30)
    try:
        return tunamh.sample(target, draws=DRAWS, tune=300, chains=1, cores=1, thin=4, rng=seed, progressbar=False)
    except tunamh.NotApplicable as refused:
        if "modes" not in str(refused):
            raise
        return None


def as_results_call(name):
    return name.replace("scale_", "sigma_", 1) if name.startswith("scale_") else name


@pytest.mark.parametrize("name", CASES)
@pytest.mark.filterwarnings("ignore::tunamh.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_ranks_are_uniform(name):
    hold_uniform(name, ranks(CASES[name]))


def test_a_wrong_prior_of_a_further_scale_shows():
    """Negative control: the model believes in scales that are thirty times smaller."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert least_p_value(ranks(CASES["a scale"], wrong=1 / 30)) < 1e-4
