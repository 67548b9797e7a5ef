"""Golden draws: targets, tests, proposals and seeds whose draws a change of the code's shape must not touch.

    python tests/test_golden.py --write            all
    python tests/test_golden.py --write NAME ...   those only

writes the draws of today's code; a change of them with a reason has its heading in the CHANGELOG. The file has draws by
machine: on one that has written them equal bits are asked for. On another kind of processor sums may round otherwise,
so the comparison there allows for that (and a decision that it turns is a failure to look at, not to wave through).
Draws without a machine are older than that.
"""

import sys
from pathlib import Path

import numba
import numpy as np
import pytest

import golden_models as models
import tunamh
from conftest import logistic_data
from golden_models import MACHINE, RUN, SEED
from tunamh import MH, MHSS, Autoregressive, FactorizedMH, FlyMC, Normal, RandomWalk, Taylor, TunaMH
from tunamh.results.layout import layout_of

FILE = Path(__file__).parent / "golden.npz"
X, Y = logistic_data(3000, 4)
NOISE = np.random.default_rng(8).standard_t(4, 3000)
REAL = X @ [1.0, 0.5, 0.0, -0.5] + NOISE
COUNTS = np.random.default_rng(9).poisson(np.exp(0.3 * X[:, 0])).astype(float)
WEIGHTS = np.random.default_rng(10).uniform(0.5, 2.0, 3000)


@numba.njit
def cauchy_energy(theta, row):
    return np.log1p((row[0] - theta[0]) ** 2)


@numba.njit
def cauchy_gradient(theta, row, out):
    r = theta[0] - row[0]
    out[0] = 2 * r / (1 + r * r)


@numba.njit
def cauchy_hessian(theta, row, out):
    r = theta[0] - row[0]
    out[0, 0] = 2 * (1 - r * r) / (1 + r * r) ** 2


@numba.njit
def student_prior(theta):
    return -4.0 * np.sum(np.log1p((theta / 2.5) ** 2 / 7.0))


@numba.njit
def uniform_steps(rng, theta, prop):
    for j in range(theta.size):
        prop[j] = theta[j] + rng.uniform(-0.05, 0.05)
    return 0.0


def logistic(**given):
    return tunamh.LogisticRegression(X, Y, **given)


def robust(**given):
    return tunamh.RobustRegression(X, REAL, **given)


def own(**given):
    return tunamh.EnergyTarget(cauchy_energy, NOISE[:500], 1.0, dim=1, **given)


def own_with_derivatives():
    return own(gradient=cauchy_gradient, hessian=cauchy_hessian, c_gradient=2.0, c_hessian=4.0)


def float32():
    return tunamh.LogisticRegression(X[:, :3].astype(np.float32), Y)


CASES = {
    "logistic": (logistic, {}),
    "logistic, normal prior": (lambda: logistic(prior=Normal(mean=0.1, scale=0.5)), {}),
    "logistic, own prior": (lambda: logistic(prior=student_prior), {}),
    "logistic, weights": (lambda: logistic(weights=WEIGHTS), {}),
    "logistic, tempered": (lambda: logistic(temper=0.1), {}),
    "logistic, float32": (float32, {}),
    "logistic, thin": (logistic, {"thin": 3}),
    "logistic, 40 rows": (lambda: tunamh.LogisticRegression(X[:40, :2], Y[:40]), {}),
    "logistic, MH": (logistic, {"test": MH()}),
    "logistic, TunaMH": (logistic, {"test": TunaMH()}),
    "logistic, TunaMH chi": (logistic, {"test": TunaMH(chi=0.01), "proposal": RandomWalk(0.02)}),
    "logistic, Taylor 1": (logistic, {"control": Taylor(order=1)}),
    "logistic, Taylor 2 plain": (logistic, {"control": Taylor(order=2, whiten=False)}),
    "logistic, SMH-2": (logistic, {"control": Taylor(order=2), "test": FactorizedMH()}),
    "logistic, MH-SS": (logistic, {"control": Taylor(order=2), "test": MHSS()}),
    "logistic, original bounds": (
        logistic,
        {"control": Taylor(order=1, original_bounds=True), "test": FactorizedMH()},
    ),
    "logistic, FlyMC": (logistic, {"test": FlyMC(q=0.1, tuned=True)}),
    "logistic, FlyMC Laplace": (logistic, {"test": FlyMC(q=0.1), "proposal": Autoregressive(rho=0.5)}),
    "logistic, own proposal": (logistic, {"test": TunaMH(chi=0.1), "proposal": uniform_steps}),
    "logistic, by coordinate": (logistic, {"test": MHSS(), "proposal": RandomWalk([0.01, 0.02, 0.03, 0.04])}),
    "probit": (lambda: tunamh.GLM(X, Y, tunamh.Probit()), {}),
    "student": (robust, {}),
    "student, FlyMC": (robust, {"test": FlyMC(q=0.05)}),
    "student, two lumps": (
        lambda: tunamh.RobustRegression(np.ones((100, 1)), np.r_[NOISE[:50], 20 - NOISE[:50]], df=2, scale=1.0),
        {},
    ),
    "huber": (lambda: tunamh.GLM(X, REAL, tunamh.Huber(scale=1.0)), {}),
    "gaussian": (lambda: tunamh.GLM(X, REAL, tunamh.Gaussian(1.4), prior=Normal(scale=3.0)), {}),
    "negative binomial": (lambda: tunamh.GLM(X, COUNTS, tunamh.NegativeBinomial(3.0)), {}),
    "softplus": (lambda: tunamh.GLM(X, COUNTS, tunamh.SoftplusPoisson()), {}),
    "mixture": (lambda: tunamh.GaussianMixture(NOISE[:500], temper=0.05), {}),
    "mixture, PoissonMH": (lambda: tunamh.GaussianMixture(NOISE[:500], temper=0.05), {"test": tunamh.PoissonMH(50.0)}),
    "mixture, Taylor 1": (lambda: tunamh.GaussianMixture(NOISE[:500], temper=0.05), {"control": Taylor(order=1)}),
    "walk": (lambda: tunamh.FiniteWalk(NOISE[:50], 10), {"test": TunaMH(chi=0.5)}),
    "own energy": (own, {"init": [0.0]}),
    "own energy, Taylor 2": (own_with_derivatives, {"control": Taylor(order=2), "proposal": Autoregressive()}),
    "austere": (logistic, {"test": tunamh.AustereMH(0.05, 100), "proposal": RandomWalk(0.02)}),
    "barker": (logistic, {"test": tunamh.MHMinibatch(100, 5.0), "proposal": RandomWalk(0.02)}),
}


FORTY_ROWS = {"test": MHSS(floor=40, delayed=False), "proposal": Autoregressive(rho=0.0)}

WHOLE = {
    "groups": (models.intercepts, {}),
    "groups, thin": (models.intercepts, {"thin": 3}),
    "groups, slopes": (models.slopes, {}),
    "groups, crossed": (models.crossed, {}),
    "groups, known scale": (models.known_group_scale, {}),
    "groups, effects not kept": (models.effects_not_kept, {}),
    "groups, gaussian": (models.groups_of(tunamh.Gaussian(), models.REALS), {}),
    "groups, student": (models.groups_of(tunamh.StudentT(4), models.REALS), {}),
    "groups, poisson": (models.groups_of(tunamh.Poisson(), models.COUNTS), {}),
    "groups, negative binomial": (models.groups_of(tunamh.NegativeBinomial(), models.COUNTS), {}),
    "groups, ordinal": (models.groups_of(tunamh.Ordinal(), models.STEPS, models.X[:, 1:]), {}),
    "levels, pure": (models.pure_level, {}),
    "levels, thin": (models.thin_levels, {}),
    "trajectories": (models.trajectories, {}),
    "gaussian, unknown scale": (models.of(tunamh.Gaussian(), models.REALS), {}),
    "student, unknown scale": (models.of(tunamh.StudentT(4), models.REALS), {}),
    "student, unknown scale and df": (models.of(tunamh.StudentT(None), models.REALS), {}),
    "negative binomial, unknown dispersion": (models.of(tunamh.NegativeBinomial(), models.COUNTS), {}),
    "poisson": (models.of(tunamh.Poisson(), models.COUNTS), {}),
    "cloglog": (models.of(tunamh.Cloglog(), models.LABELS), {}),
    "ordinal": (models.of(tunamh.Ordinal(), models.STEPS, models.X[:, 1:]), {}),
    "gamma": (models.of(tunamh.Gamma(), models.POSITIVE), {}),
    "beta": (models.of(tunamh.Beta(), models.SHARES), {}),
    "weibull, censored": (models.censored, {}),
    "categorical": (models.of(tunamh.Categorical(), models.CLASSES), {}),
    "horseshoe": (models.horseshoe, {}),
    "grouped prior": (models.grouped_prior, {}),
    "zero-inflated": (models.of(models.INFLATED, models.ZEROS), {}),
    "hurdle": (models.of(tunamh.Hurdle(tunamh.Poisson()), models.ZEROS), {}),
    "trials and offset": (models.trials_and_offset, {}),
    "own family": (models.own_family, {}),
    "own family of two predictors": (models.own_family_of_two, {}),
    "sparse": (models.sparse_columns, {}),
    **{f"formula, {name}": (made, {}) for name, made in models.FORMULAS.items()},
    "formula, blocks": (models.formula_of_blocks, {}),
    "gathered": (models.gathered, {}),
    "gathered, forty rows": (models.gathered, FORTY_ROWS),
    "gathered, unknown scale": (models.gathered_scale, {}),
    "gathered, parquet": (models.gathered_parquet, FORTY_ROWS),
    "held, parquet": (models.held_parquet, {}),
}
"""Of which all variables are compared."""

FITTED = {
    "fitted, logistic": models.fitted_labels,
    "fitted, negative binomial": models.fitted_counts,
    "fitted, robust": models.fitted_reals,
}
"""Estimators, whose posteriors are compared."""

ALL = [*CASES, *WHOLE, *FITTED]

CHOICES = {
    "levels, pure": "treated as groups",
    "levels, thin": "treated as groups",
    "trajectories": "Hamiltonian trajectories",
    "gathered": "which passes over all rows gather",
    "gathered, unknown scale": "which passes over all rows gather",
    "horseshoe": "scales of the prior",
    "groups, crossed": "of g and 4 of h",
}
"""What the line about the choice must say, for the case to be of what its name tells."""


def tree_of(name):
    if name in FITTED:
        return FITTED[name]()
    make, given = CASES[name] if name in CASES else WHOLE[name]
    return tunamh.sample(make(), rng=SEED, progressbar=False, **RUN, **given)


def numbers_of(tree):
    """All variables by name, and what is kept of effects whose draws are not."""
    groups = [tree[name] for name in ("posterior", "group_effects") if name in tree.children]
    return np.concatenate([group[name].values.ravel() for group in groups for name in sorted(group.data_vars)])


def numbers_side_by_side(tree, target):
    """Of a formula, whose variables are its terms: the numbers in the order in which chains have them."""
    flat = layout_of(target, target.variables).flat(tree.posterior)
    sizes = [1 if labels is None else len(labels) for _, labels in target.variables]
    parts = np.split(flat, np.cumsum(sizes)[:-1], axis=-1)
    by_name = {name: part for (name, _), part in zip(target.variables, parts, strict=True)}
    return np.concatenate([by_name[name].ravel() for name in sorted(by_name)])


def draws(name):
    tree = tree_of(name)
    assert CHOICES.get(name, "") in tree.posterior.attrs["choice"]
    if name.startswith("formula"):
        return numbers_side_by_side(tree, WHOLE[name][0]())
    return tree.posterior["theta"].values if name in CASES else numbers_of(tree)


def own_key(name):
    return f"{name} @ {MACHINE}"


def keys_of(name, golden):
    """Draws of a case, by whatever machine."""
    return [key for key in golden if key.split(" @ ")[0] == name]


def verdict(name, found, golden):
    """How the draws compare: an empty text where they are the golden ones."""
    own = own_key(name)
    if own in golden:
        if np.array_equal(found, golden[own]):
            return ""
        return f"other bits than this machine's, {_apart(found, golden[own])}"
    others = keys_of(name, golden)
    if any(found == pytest.approx(golden[key], rel=1e-7, abs=1e-9) for key in others):
        return ""
    return "; ".join(f"{key}: {_apart(found, golden[key])}" for key in others) or "no golden draws"


def _apart(found, golden):
    if found.shape != golden.shape:
        return f"shapes {found.shape} and {golden.shape}"
    return f"{(found != golden).mean():.0%} of numbers differ, by at most {np.abs(found - golden).max():.3g}"


@pytest.fixture(scope="module")
def golden():
    with np.load(FILE) as stored:
        return dict(stored)


@pytest.mark.parametrize("name", ALL)
def test_draws_are_the_golden_ones(name, golden):
    if name in FITTED:
        pytest.importorskip("sklearn")
    if "parquet" in name:
        pytest.importorskip("pyarrow")
    different = verdict(name, draws(name), golden)
    assert not different, different


def write(names):
    """This machine's draws; where they are not what they were, those of other machines are of older code, too."""
    with np.load(FILE) as stored:
        golden = dict(stored)
    for name in names:
        found, own = draws(name), own_key(name)
        if own in golden and not np.array_equal(found, golden[own]):
            golden = {key: values for key, values in golden.items() if key not in keys_of(name, golden)}
            print("new draws of", name)
        golden[own] = found
    np.savez_compressed(FILE, **{key: values for key, values in golden.items() if key.split(" @ ")[0] in ALL})


if __name__ == "__main__":
    given = [name for name in sys.argv[1:] if name != "--write"] or ALL
    if "--write" in sys.argv:
        write(given)
    else:
        with np.load(FILE) as stored:
            golden_draws = dict(stored)
        for one in given:
            print(verdict(one, draws(one), golden_draws) or "same", "|", one)
