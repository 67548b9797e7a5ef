"""Models that are not linear: the law of the draws, names, priors, prediction, several modes, groups, and errors."""

import numpy as np
import pandas as pd
import pytest
from scipy import special

import tunamh
from tunamh import Normal, nonlinear
from tunamh.formula.errors import FormulaError
from tunamh.formula.model import FormulaModel
from tunamh.jets import CannotBound, box_bound, derivatives

N = 400
_rng = np.random.default_rng(5)
WEIGHT = _rng.normal(70, 10, N)
DOSE = _rng.choice([0.3, 1.0, 3.0, 10.0, 30.0], N)
BATCH = np.arange(N) % 8
SHIFT = _rng.normal(0, 0.4, 8)
TOP = 5 + 0.05 * (WEIGHT - 70)
Y = TOP * DOSE / (np.exp(1.0 + SHIFT[BATCH]) + DOSE) + _rng.normal(0, 0.5, N)
TABLE = pd.DataFrame({"y": Y, "dose": DOSE, "weight": WEIGHT, "batch": [f"b{k}" for k in BATCH]})
FORMULAS = {"top": "~ weight", "log_ed50": "~ 1", "log_sigma": "~ 1"}


def hill(top, log_ed50, log_sigma, y, dose):
    curve = top * dose / (np.exp(log_ed50) + dose)
    return log_sigma + 0.5 * ((y - curve) * np.exp(-log_sigma)) ** 2


def hill_in_another_order(y, log_sigma, dose, top, log_ed50):
    curve = top * dose / (np.exp(log_ed50) + dose)
    return log_sigma + 0.5 * ((y - curve) * np.exp(-log_sigma)) ** 2


def hill_of_a_family(top, log_ed50, log_sigma, dose, y):
    curve = top * dose / (np.exp(log_ed50) + dose)
    return log_sigma + 0.5 * ((y - curve) * np.exp(-log_sigma)) ** 2


def mean(dose, top, log_ed50):
    return top * dose / (np.exp(log_ed50) + dose)


def draw(rng, top, log_ed50, log_sigma, dose):
    return mean(dose, top, log_ed50) + np.exp(log_sigma) * rng.standard_normal(top.shape)


def by_hand(theta):
    """The energy of the posterior at top's intercept (at the mean weight) and slope, log_ed50 and log_sigma."""
    at_mean, slope, log_ed50, log_sigma = theta
    top = at_mean + slope * (WEIGHT - WEIGHT.mean())
    prior = [at_mean / 2.5, slope * np.std(WEIGHT) / 2.5, log_ed50 / 2.5, log_sigma / 2.5]
    return hill(top, log_ed50, log_sigma, Y, DOSE).sum() + 0.5 * np.square(prior).sum()


POINTS = np.array([[5.0, 0.05, 1.0, -0.7], [4.0, 0.02, 0.5, 0.1], [6.0, -0.01, 1.4, 0.4]])


@pytest.mark.parametrize("energy", [hill, hill_in_another_order])
def test_the_energy_is_that_of_the_function_and_of_the_default_priors(energy):
    target = nonlinear(energy, TABLE, FORMULAS)
    found = target.energies_at(POINTS)
    told = np.array([by_hand(point) for point in POINTS])
    np.testing.assert_allclose(np.diff(found), np.diff(told), rtol=1e-3)  # scales of priors have three digits
    natural = target.to_user(POINTS[0])
    assert natural[0] == pytest.approx(5.0 - 0.05 * WEIGHT.mean())


def test_the_expansion_has_the_derivatives_of_the_energy():
    target = nonlinear(hill, TABLE, FORMULAS)
    found = target.expansion(POINTS[1])
    steps = 1e-4 * np.eye(4)
    data = [target.energies_at(POINTS[1] + sign * steps) for sign in (1, -1)]
    prior = [target._prior_energies_at(POINTS[1] + sign * steps) for sign in (1, -1)]
    slope = (data[0] - prior[0] - data[1] + prior[1]) / 2e-4
    np.testing.assert_allclose(found.gradient, slope, rtol=1e-5, atol=1e-4)


def test_a_family_with_columns_is_the_same_model():
    own = tunamh.family(hill_of_a_family, columns=["dose"])
    prior = {"Intercept": Normal(scale=2.5), "weight": Normal(scale=0.25)}
    formulas = {"log_ed50": "~ 1", "log_sigma": "~ 1"}
    by_formula = tunamh.regression("y ~ weight", TABLE, family=own, predictors=formulas, prior=prior)
    one = np.ones((N, 1))
    X, predictors = np.column_stack([one, WEIGHT]), {"log_ed50": one, "log_sigma": one, "dose": DOSE}
    by_arrays = tunamh.GLM(X, Y, own, predictors=predictors)
    rows = [hill(X @ point[:2], *point[2:], Y, DOSE).sum() for point in POINTS]
    for target in (by_formula, by_arrays):
        found = target.energies_at(POINTS) - target._prior_energies_at(POINTS)
        np.testing.assert_allclose(found, rows, rtol=1e-10)
    with pytest.raises(ValueError, match="needs the column dose"):
        tunamh.GLM(X, Y, own)
    with pytest.raises(ValueError, match="no argument of energy"):
        tunamh.family(hill_of_a_family, columns=["hour"])


# ------------------------------------------------------------------------------------------------ the law of the draws

FEW = TABLE.head(14)
NARROW = {"top": Normal(mean=4, scale=1), "log_ed50": Normal(scale=0.7), "log_sigma": Normal(scale=0.5)}


def by_quadrature():
    """Means and standard deviations of top, log_ed50 and log_sigma, on a grid."""
    axes = [np.linspace(4 - 5, 4 + 5, 81), np.linspace(-3, 3.5, 81), np.linspace(-2, 2.5, 81)]
    grid = np.array([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")])
    rows = FEW[["y", "dose"]].to_numpy().T[:, :, None]
    energy = hill(grid[0], grid[1], grid[2], rows[0], rows[1]).sum(axis=0)
    energy += 0.5 * np.square((grid[0] - 4) / 1) + 0.5 * np.square(grid[1] / 0.7) + 0.5 * np.square(grid[2] / 0.5)
    weight = np.exp(energy.min() - energy)
    weight /= weight.sum()
    centre = grid @ weight
    return centre, np.sqrt(np.square(grid - centre[:, None]) @ weight)


@pytest.mark.parametrize("test", [None, tunamh.MHSS(delayed=False, full_share=50.0)], ids=["chosen", "minibatches"])
def test_draws_against_quadrature(test):
    target = nonlinear(hill, FEW, dict.fromkeys(FORMULAS, "~ 1"), prior=NARROW)
    more = {} if test is None else {"test": test, "control": tunamh.Taylor(2), "proposal": tunamh.Autoregressive()}
    posterior = tunamh.sample(target, draws=4000, thin=2, rng=1, progressbar=False, **more)
    centre, spread = by_quadrature()
    for k, name in enumerate(FORMULAS):
        draws = posterior.posterior[f"{name}_Intercept"].values
        error = spread[k] / np.sqrt(400)  # of some 400 effective draws at least
        assert abs(draws.mean() - centre[k]) < 4 * error
        assert abs(draws.std() / spread[k] - 1) < 4 / np.sqrt(2 * 400)


def test_eight_predictors():
    """A mixture of two curves: every predictor has its part in the energy and in its bounds."""

    def energy(a, b, c, d, e, f, g, h, y, x):
        one = np.exp(c) + 0.5 * ((y - a - b * x) * np.exp(-c)) ** 2
        return np.logaddexp(0, d) + one * special.expit(d) + np.tanh(e + f * x) ** 2 + (g - h * x) ** 2

    names = list("abcdefgh")
    data = {"y": Y[:60], "x": WEIGHT[:60] / 70}
    target = nonlinear(energy, data, dict.fromkeys(names, "~ 1"))
    point = np.linspace(-0.4, 0.5, 8)
    told = energy(*point, data["y"], data["x"]).sum() + 0.5 * np.square(point / 2.5).sum()
    found = target.energies_at(np.array([point, np.zeros(8)]))
    none = energy(*np.zeros(8), data["y"], data["x"]).sum()
    assert found[0] - found[1] == pytest.approx(told - none, rel=1e-9)
    with pytest.raises(FormulaError, match="one to eight"):
        nonlinear(energy, data, dict.fromkeys([*names, "i"], "~ 1"))


def test_bounds_with_columns_of_the_data(rng):
    at = np.array([[5.0, 1.0, -0.5]]).T + rng.normal(0, 0.3, (3, 50))
    y, dose, reach = Y[:50], DOSE[None, :50], 0.05

    def energy(top, log_ed50, log_sigma, dose, y):
        return hill(top, log_ed50, log_sigma, y, dose)

    bound = box_bound(energy, at, y, reach, known=dose)
    for _ in range(100):
        near = at + reach * rng.uniform(-1, 1, at.shape)
        assert (bound >= np.abs(derivatives(energy, list(near), y, list(dose)).third) - 1e-12).all()
    wrong = box_bound(energy, at, y, reach, known=0.5 * dose)
    assert (wrong < np.abs(derivatives(energy, list(at), y, list(dose)).third)).any()  # the control


# -------------------------------------------------------------------------------------------------- results, prediction


@pytest.fixture(scope="module")
def fitted():
    target = nonlinear(hill, TABLE, FORMULAS, mean=mean, draw=draw)
    return target, tunamh.sample(target, draws=200, rng=1, progressbar=False)


def test_results_have_a_variable_for_every_predictor_and_term(fitted):
    target, posterior = fitted
    names = ["top_Intercept", "top_weight", "log_ed50_Intercept", "log_sigma_Intercept"]
    assert list(posterior.posterior.data_vars) == names
    assert list(tunamh.summary(posterior).index) == names
    assert list(tunamh.prior_summary(target).index) == names
    told = target.formula.to_json()
    assert FormulaModel.from_json(told).to_json() == told


def test_predictors_means_and_responses_are_predicted(fitted):
    target, posterior = fitted
    rows = pd.DataFrame({"dose": [1.0, 30.0], "weight": [60.0, 80.0]})
    found = tunamh.predict(posterior, rows, kind="linear", quantiles=None, draws=800)
    assert found.dims == ("sample", "row", "predictor")
    assert list(found.predictor.values) == list(FORMULAS)
    draws = {name: posterior.posterior[name].values.ravel() for name in posterior.posterior.data_vars}
    top = draws["top_Intercept"] + draws["top_weight"] * 80.0
    np.testing.assert_allclose(found.sel(predictor="top").values[:, 1], top)
    means = tunamh.predict(posterior, rows, family=target.user_family, quantiles=None, draws=800)
    np.testing.assert_allclose(means.values[:, 1], mean(30.0, top, draws["log_ed50_Intercept"]))
    responses = tunamh.predict(posterior, rows, kind="response", family=target.user_family, rng=1)
    assert responses["sd"].values == pytest.approx(np.exp(draws["log_sigma_Intercept"].mean()), rel=0.15)


def test_rows_are_left_out_and_replicated(fitted):
    target, posterior = fitted
    family = target.user_family
    assert tunamh.loo(posterior, TABLE, family=family, rng=1).p == pytest.approx(4.0, abs=1.5)
    replicas = tunamh.replicate(posterior, TABLE, rows=20, family=family, rng=1)
    assert set(replicas["constant_data"].data_vars) == {"weight", "dose"}
    density = replicas["log_likelihood"]["y"].values
    assert np.isfinite(density).all()
    with pytest.raises(tunamh.NotApplicable, match="mean of a response"):
        tunamh.predict(posterior, TABLE, family=nonlinear(hill, TABLE, FORMULAS).user_family)


def test_questions_about_effects(fitted):
    target, posterior = fitted
    slopes = tunamh.slopes(posterior, TABLE.head(3), "weight", family=target.user_family)
    assert (slopes["mean"] > 0).all()
    curve = tunamh.predictions(posterior, conditional={"dose": [1.0, 30.0]}, family=target.user_family)
    assert curve["mean"].iloc[1] > curve["mean"].iloc[0]


def test_the_evidence_is_that_of_quadrature():
    def normal(m, y, x):
        return 0.5 * (y - m * x) ** 2 + 0.5 * np.log(2 * np.pi)

    data = {"y": Y[:6], "x": DOSE[:6] / 10}
    data["y"] = 0.3 * data["y"]
    found = tunamh.evidence(nonlinear(normal, data, {"m": "~ 1"}, convex=True), rng=1)
    m = np.linspace(-15, 15, 4001)
    rows = -0.5 * (data["y"][:, None] - m * data["x"][:, None]) ** 2 - 0.5 * np.log(2 * np.pi)
    log_joint = rows.sum(axis=0) - 0.5 * (m / 2.5) ** 2 - 0.5 * np.log(2 * np.pi * 2.5**2)
    told = special.logsumexp(log_joint) + np.log(m[1] - m[0])
    assert found.log_evidence == pytest.approx(told, abs=0.01)


# ---------------------------------------------------------------------------------------------------- modes and groups


def two_laws(m1, m2, logit, y):
    one, two = -np.logaddexp(0, -logit) - 0.5 * (y - m1) ** 2, -np.logaddexp(0, logit) - 0.5 * (y - m2) ** 2
    return -np.logaddexp(one, two)


def test_two_modes_by_label_are_said_loudly():
    rng = np.random.default_rng(1)
    data = {"y": np.where(rng.random(N) < 0.6, -1.5, 2.0) + rng.standard_normal(N)}
    target = nonlinear(two_laws, data, dict.fromkeys(("m1", "m2", "logit"), "~ 1"))
    assert len(target.modes) == 2
    np.testing.assert_allclose(target.modes[0].point[:2], target.modes[1].point[1::-1], atol=1e-4)
    with pytest.warns(tunamh.SeveralModes, match="can be exchanged"):
        tunamh.sample(target, draws=20, tune=10, rng=1, progressbar=False)


@pytest.mark.filterwarnings("ignore::tunamh.ConvergenceWarning")
def test_groups_in_two_predictors():
    formulas = {"top": "~ weight + (1 | batch)", "log_ed50": "~ 1 + (1 | batch)", "log_sigma": "~ 1"}
    target = nonlinear(hill, TABLE, formulas, prior={"top (1 | batch)": tunamh.HalfNormal(0.5)})
    assert isinstance(target, tunamh.MixedModel)
    summary = tunamh.prior_summary(target)
    assert "0.5" in summary.loc["top_1|batch_sigma", "prior"]
    point = np.linspace(-0.3, 0.4, target.p)
    common = np.array([5.0, 0.05, 1.0, -0.7]) + 0 * point
    effects = [np.linspace(-0.5, 0.5, 8)[:, None], np.linspace(0.3, -0.2, 8)[:, None]]
    from tunamh.groups.centre import Point

    rows = target.base.observations.take(np.arange(N)).rows()
    eta = target.grouped.predictor(rows._replace(start=0), Point(common, effects))
    np.testing.assert_allclose(eta[0], 5.0 + 0.05 * (WEIGHT - WEIGHT.mean()) + effects[0][BATCH, 0])
    np.testing.assert_allclose(eta[1], 1.0 + effects[1][BATCH, 0])
    np.testing.assert_allclose(eta[3], DOSE)


@pytest.mark.slow
def test_group_effects_are_found():
    formulas = {"top": "~ weight", "log_ed50": "~ 1 + (1 | batch)", "log_sigma": "~ 1"}
    posterior = tunamh.sample(nonlinear(hill, TABLE, formulas), draws=500, rng=1, progressbar=False)
    found = posterior.posterior["log_ed50_1|batch"].mean(("chain", "draw")).values
    assert np.corrcoef(found, SHIFT)[0, 1] > 0.9


# ------------------------------------------------------------------------------------------------------------- refusals


def absolute(top, log_ed50, log_sigma, y, dose):
    curve = top * dose / (np.exp(log_ed50) + dose)
    return log_sigma + np.abs(y - curve)


def branch(top, log_ed50, log_sigma, y, dose):
    return log_sigma * dose + top + (y if log_ed50 > 0 else 0)


def root(top, log_ed50, log_sigma, y, dose):
    inner = top - top + log_ed50 - log_ed50
    return log_sigma + np.sqrt(inner * inner) + y * dose


def of_no_column(top, log_ed50, log_sigma, y, hour):
    return top + log_ed50 + log_sigma + y + hour


def of_two(top, log_ed50, y):
    return (top - y) ** 2 + log_ed50


REFUSED = {
    "an operation": (absolute, {}, CannotBound, r"absolute in line \d+, `return log_sigma \+ np.abs"),
    "a branch": (branch, {}, CannotBound, r"greater in line \d+"),
    "no bound": (root, {}, ValueError, r"lost at sqrt in line \d+"),
    "no such column": (of_no_column, {}, FormulaError, "'hour', which is neither a predictor"),
    "no such argument": (of_two, {}, FormulaError, "'log_sigma', which is no argument"),
    "a prior of nothing": (hill, {"prior": {"bottom": Normal(scale=1)}}, FormulaError, "'bottom', which belongs to no"),
    "a prior of no term": (
        hill,
        {"prior": {"top age": Normal(scale=1)}},
        FormulaError,
        "predictor of top: prior names",
    ),
    "no dict": (hill, {"prior": Normal(scale=1)}, TypeError, "dict by predictor and term"),
    "no such response": (hill, {"response": "weight"}, FormulaError, "no column among the arguments"),
    "a mean of others": (hill, {"mean": lambda bottom: bottom}, TypeError, "got the arguments bottom"),
    "missing": (hill, {"missing": "ignore"}, ValueError, "missing must be"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused_says_why(case):
    energy, more, error, words = REFUSED[case]
    with pytest.raises(error, match=words):
        nonlinear(energy, TABLE, FORMULAS, **more)


def test_names_that_mean_two_things_are_refused():
    with pytest.raises(FormulaError, match="a predictor and a column"):
        nonlinear(hill, TABLE.assign(top=1.0), FORMULAS)
    with pytest.raises(FormulaError, match="call it log_scale"):
        nonlinear(lambda scale, y: (y - scale) ** 2, TABLE, {"scale": "~ 1"})


def test_a_default_prior_in_other_units_is_told():
    target = nonlinear(hill, TABLE.assign(y=100 * Y), FORMULAS)
    assert any("default prior does not know the unit" in said for said in target.model_warnings())
    wide = {"top": Normal(mean=500, scale=300), "top weight": Normal(scale=10)}
    assert nonlinear(hill, TABLE.assign(y=100 * Y), FORMULAS, prior=wide).model_warnings() == []


def test_a_loss_near_the_centre_names_the_row_and_the_operation():
    def kinked(m, y):
        return np.sqrt((y - m) * (y - m)) + 0.01 * m * m

    target = nonlinear(kinked, {"y": np.array([1.0, 2.0, 2.0, 2.0, 5.0, -1.0])}, {"m": "~ 1"})
    point = np.array([2.001])
    with pytest.raises(tunamh.NotApplicable, match=r"in row 0: it is lost at sqrt in line \d+"):
        target.taylor(2, point, target.expansion(point), whiten=True, original_bounds=False)
