"""Curves in the predictors of a family's parameters, and in models that are not linear."""

import json

import arviz_stats
import numpy as np
import pandas as pd
import pytest
from scipy import stats

import tunamh
from tunamh import FormulaError, HalfCauchy, HalfStudentT, Normal, ZeroInflated
from tunamh.formula.curves import DrawnSurface, curves_of, terms_of_result
from tunamh.formula.model import FormulaModel
from tunamh.proposals.nested_law import NestedLaw, ScalePrior
from tunamh.targets.scale_mixtures.nested import NestedTarget

pytestmark = pytest.mark.filterwarnings("ignore::tunamh.ConvergenceWarning")
rng = np.random.default_rng(8)
N = 2500
TABLE = pd.DataFrame(
    {
        "x": rng.uniform(0, 6, N),
        "z": rng.standard_normal(N),
        "w": rng.uniform(0, 1, N),
        "dose": rng.choice([0.3, 1.0, 3.0, 10.0, 30.0], N),
        "c": rng.choice(["a", "b"], N),
        "g": rng.choice([f"g{k}" for k in range(12)], N),
    }
)
LOG_SCALE = -0.5 + 0.6 * np.cos(TABLE["x"])
TABLE["y"] = 0.5 * TABLE["z"] + np.sin(TABLE["x"]) + np.exp(LOG_SCALE) * rng.standard_normal(N)
ZERO = 1 / (1 + np.exp(-np.sin(TABLE["x"])))
TABLE["k"] = np.where(rng.random(N) < ZERO, 0, rng.poisson(np.exp(0.6 + 0.3 * TABLE["z"]) * rng.gamma(2, 0.5, N)))
TOP = 5 + np.sin(2 * TABLE["w"])
TABLE["r"] = TOP * TABLE["dose"] / (np.exp(1.0) + TABLE["dose"]) + 0.5 * rng.standard_normal(N)


def hill(top, log_ed50, log_sigma, r, dose):
    return log_sigma + 0.5 * ((r - top * dose / (np.exp(log_ed50) + dose)) * np.exp(-log_sigma)) ** 2


def mean(top, log_ed50, dose):
    return top * dose / (np.exp(log_ed50) + dose)


def draw(random, top, log_ed50, log_sigma, dose):
    return mean(top, log_ed50, dose) + np.exp(log_sigma) * random.standard_normal(top.shape)


def drawn(target, draws=600, **more):
    return tunamh.sample(target, draws=draws, chains=2, cores=1, rng=3, progressbar=False, **more)


@pytest.fixture(scope="module")
def of_scale():
    target = tunamh.regression("y ~ z + s(x)", TABLE, predictors={"scale": "~ s(x)"})
    return target, drawn(target)


def off_truth(curve, truth):
    """How far the mean curve is from the truth, in posterior standard deviations."""
    centred = truth(curve.at) - truth(TABLE[curve.column]).mean()
    return np.abs(curve.draws.mean(axis=0) - centred) / curve.draws.std(axis=0)


def test_curves_of_a_mean_and_of_a_scale(of_scale):
    target, posterior = of_scale
    found = posterior.posterior
    wanted = {"Intercept", "z", "s(x)", "sigma_Intercept", "sigma_s(x)", "s(x)_sigma", "sigma_s(x)_sigma"}
    assert set(found.data_vars) == wanted
    assert found["sigma_s(x)_sigma"].attrs["predictor"] == "scale"
    assert found["sigma_s(x)_sigma"].attrs["term"] == "s(x)"
    assert "predictor" not in found["s(x)_sigma"].attrs
    of_mean, of_spread = curves_of(posterior)
    assert (of_mean.title, of_spread.title, of_spread.predictor) == ("s(x)", "sigma_s(x)", "scale")
    assert (off_truth(of_mean, np.sin) < 4).mean() > 0.95
    assert (off_truth(of_spread, lambda x: 0.6 * np.cos(x)) < 4).mean() > 0.95
    assert (off_truth(of_mean, np.cos) > 6).mean() > 0.5  # negative control
    assert posterior.sample_stats["accepted"].mean() > 0.6
    effective = [arviz_stats.ess(np.log(found[name].values)) for name in ("s(x)_sigma", "sigma_s(x)_sigma")]
    assert min(effective) > 400
    assert dict(target.variables)["scale"][:2] == ["Intercept", "s(x)[linear]"]


def test_what_follows_from_a_result(of_scale, tmp_path):
    _, posterior = of_scale
    rows = TABLE.iloc[:4]
    spread = tunamh.predict(posterior, rows, kind="response", rng=1)
    assert np.isfinite(spread["mean"].values).all()
    axes = tunamh.plot_smooths(posterior)
    assert [ax.get_ylabel() for ax in axes] == ["linear predictor", "linear predictor of scale"]
    assert len(tunamh.plot_smooths(posterior, "sigma_s(x)")) == 1
    assert len(tunamh.plot_smooths(posterior, "s(x)")) == 1
    tunamh.report(posterior, tmp_path / "report.html")
    assert "the change of the linear predictor of scale" in (tmp_path / "report.html").read_text()
    assert np.isfinite(tunamh.loo(posterior, TABLE, rows=100, rng=1).elpd)
    with pytest.raises(tunamh.NotApplicable, match="evidence is not offered for curves in a further predictor"):
        tunamh.evidence(tunamh.regression("y ~ z", TABLE, predictors={"scale": "~ s(x)"}, prior=Normal(scale=2)))


def test_a_result_needs_nothing_but_its_file(of_scale):
    model = of_scale[0].formula
    again = FormulaModel.from_json(json.loads(json.dumps(model.to_json())))
    theirs, ours = (one.others["scale"].columns(one.values(TABLE)).dense() for one in (again, model))
    assert np.array_equal(theirs, ours)
    with pytest.warns(UserWarning, match=r"x is outside the range of the fitted data"):
        tunamh.predict(of_scale[1], TABLE.head(2).assign(x=[1.0, 50.0]))


def test_every_scale_has_its_prior_by_name():
    prior = {"s(x)": HalfStudentT(3, 0.3), "scale s(x)": HalfCauchy(0.2), "sigma_s(z)_sigma": HalfStudentT(5, 0.1)}
    target = tunamh.regression("y ~ s(x)", TABLE, predictors={"scale": "~ s(x) + s(z)"}, prior=prior)
    own = target.joint_prior.scales.numbers
    assert (own.df.tolist(), own.width.tolist()) == ([3.0, 1.0, 5.0], [0.3, 0.2, 0.1])
    told = tunamh.prior_summary(target)["prior"]
    assert "half-Student-t, 3 degrees of freedom, scale 0.3" in told["s(x)[2]"]
    assert "half-Cauchy, scale 0.2" in told["sigma_s(x)[2]"]
    assert told["sigma_s(x)[linear]"] == "normal, mean 0, standard deviation 2.5"
    assert "half-Student-t, 5 degrees of freedom, scale 0.1" in told["sigma_s(z)[1]"]


def test_the_energy_has_the_prior_of_every_coefficient():
    """Against the default prior of ``bs``, coefficients that have fixed priors have the same."""
    target = tunamh.regression("y ~ z", TABLE, predictors={"scale": "~ w + s(x, k=6)"})
    mixture = target.joint_prior.scales
    assert mixture.mixed.tolist() == [False] * 5 + [True] * 4
    plain = tunamh.regression("y ~ z", TABLE, predictors={"scale": "~ w + poly(x, 1)"})
    # Intercept, z; Intercept, w and the line of the scale's predictor
    assert mixture.fixed_variance[:4] == pytest.approx(
        np.concatenate([plain.coefficient_prior.laws.scale, plain.row_layout.laws[0].scale[:2]]) ** 2
    )
    points = 0.1 * np.random.default_rng(1).standard_normal((3, target.dim))
    columns = target.formula.others["scale"].columns(target.formula.values(TABLE)).dense()
    columns[:, 1] -= TABLE["w"].mean()
    eta, log_scale = points[:, :2] @ [np.ones(N), TABLE["z"]], points[:, 2:] @ columns.T
    rows = -stats.norm(eta, np.exp(log_scale)).logpdf(TABLE["y"].to_numpy()).sum(axis=1)
    found = target.energies_at(points) - target._prior_energies_at(points)
    assert np.diff(found) == pytest.approx(np.diff(rows), rel=1e-8)


def test_prior_predictive_draws_have_their_scales():
    target = tunamh.regression("y ~ z", TABLE, predictors={"scale": "~ s(x, k=6) + (1 | g)"})
    found = tunamh.prior_predictive(target, TABLE, draws=4000, rng=1).prior
    scales, wiggle = found["sigma_s(x)_sigma"].values[0], found["sigma_s(x)"].values[0][:, 2]
    assert stats.kstest(scales, lambda s: 2 * stats.t(3).cdf(s) - 1).pvalue > 1e-3
    assert stats.kstest(wiggle / scales, "norm").pvalue > 1e-3
    assert stats.kstest(wiggle, "norm").pvalue < 1e-6  # negative control
    assert found["sigma_s(x)"].values[0][:, 0].std() == pytest.approx(2.5, rel=0.1)


PARTS = {
    "inflation": (ZeroInflated(tunamh.Poisson()), "inflation_s(x)", "k ~ z", "~ s(x)", np.sin),
    "of a binomial": (ZeroInflated(tunamh.NegativeBinomial()), "inflation_s(x)", "k ~ s(z)", "~ w + s(x)", np.sin),
    "hurdle": (tunamh.Hurdle(tunamh.Poisson()), "psi_s(x)", "k ~ z", "~ s(x)", None),
}


@pytest.mark.parametrize("name", PARTS)
def test_curves_of_probabilities(name):
    family, called, formula, further, truth = PARTS[name]
    target = tunamh.regression(formula, TABLE, family=family, predictors={family.described[0]: further})
    posterior = drawn(target)
    assert "scales of the prior are proposed together" in tunamh.sampling.choice.choose(target, None, None, None).why
    curve = next(one for one in curves_of(posterior) if one.name == called)
    if truth is not None:
        assert (off_truth(curve, truth) < 4).mean() > 0.9
    assert np.abs(curve.draws.mean(axis=0)).max() > 0.3
    assert f"{called}_sigma" in posterior.posterior
    assert np.isfinite(tunamh.predict(posterior, TABLE.head(3))["mean"].values).all()


def test_surfaces_curves_by_levels_and_ridge_together():
    target = tunamh.regression(
        "y ~ z + w", TABLE, predictors={"scale": "~ te(x, w) + c + s(z, by=c, k=6)"}, prior=tunamh.priors.Ridge()
    )
    posterior = drawn(target, draws=200)
    found = posterior.posterior
    assert found["prior_scale"].dims == ("chain", "draw")
    assert found["sigma_te(x, w)_sigma"].coords["sigma_te(x, w)_sigma_dim"].values.tolist() == ["x", "w"]
    assert found["sigma_s(z, by=c)_sigma"].coords["sigma_s(z, by=c)_sigma_dim"].values.tolist() == ["a", "b"]
    surface, *by_level = terms_of_result(posterior)
    assert isinstance(surface, DrawnSurface)
    assert surface.predictor == "scale"
    assert [one.level for one in by_level] == ["a", "b"]


def test_curves_of_a_scale_beside_groups():
    effects = 0.5 * np.random.default_rng(2).standard_normal(12)
    table = TABLE.assign(y=TABLE["y"] + effects[TABLE["g"].str[1:].astype(int)])
    target = tunamh.regression("y ~ z + s(x) + (1 | g)", table, predictors={"scale": "~ s(x)"})
    posterior = drawn(target)
    wanted = {"s(x)_sigma", "sigma_s(x)", "sigma_s(x)_sigma", "1|g", "1|g_sigma"}
    assert wanted <= set(posterior.posterior.data_vars)
    _, of_spread = curves_of(posterior)
    assert (off_truth(of_spread, lambda x: 0.6 * np.cos(x)) < 4).mean() > 0.9
    roles = tunamh.prior_summary(target)["role"]
    assert roles["sigma_s(x)_sigma"] == "standard deviation of a curve"


def test_curves_in_a_model_that_is_not_linear():
    formulas = {"log_sigma": "~ 1", "top": "~ s(w)", "log_ed50": "~ s(x)"}  # in another order than the arguments
    prior = {"top": Normal(mean=5, scale=3), "top s(w)": HalfStudentT(3, 2), "log_ed50_s(x)_sigma": HalfCauchy(0.5)}
    target = tunamh.nonlinear(hill, TABLE, formulas, prior=prior, mean=mean, draw=draw)
    assert isinstance(tunamh.sampling.choice.choose(target, None, None, None).target, NestedTarget)
    posterior, family = drawn(target), target.user_family
    top, log_ed50 = sorted(curves_of(posterior), key=lambda one: one.predictor != "top")
    assert (top.name, log_ed50.name) == ("top_s(w)", "log_ed50_s(x)")
    assert (off_truth(top, lambda w: np.sin(2 * w)) < 4).mean() > 0.9
    assert np.abs(log_ed50.draws.mean(axis=0)).max() < 0.2
    own = target.joint_prior.scales
    assert dict(zip(own.variables[0][1], own.numbers.width, strict=True)) == {"top s(w)": 2.0, "log_ed50 s(x)": 0.5}
    rows = TABLE.iloc[:5]
    found = tunamh.predict(posterior, rows, family=family)["mean"].values
    assert np.abs(found - mean(TOP, 1.0, TABLE["dose"])[:5]).max() < 0.3
    slope = tunamh.slopes(posterior, rows, "w", family=family)["mean"].to_numpy()
    truth = 2 * np.cos(2 * rows["w"]) * rows["dose"] / (np.exp(1.0) + rows["dose"])
    assert np.abs(slope - truth).max() < 1.0
    assert "half-Cauchy, scale 0.5" in tunamh.prior_summary(target)["prior"]["log_ed50_s(x)[1]"]
    both = tunamh.prior_predictive(target, TABLE, draws=20, rng=1).prior
    assert both["top_s(w)"].shape == (1, 20, 9)


def test_a_predictor_far_from_its_prior_is_told_beside_curves():
    """Wiggles are no unit that a default prior did not know: only the intercept is named."""
    far = TABLE.assign(r=1000 + 20 * TABLE["r"])
    target = tunamh.nonlinear(hill, far, {"top": "~ s(w)", "log_ed50": "~ 1", "log_sigma": "~ 1"})
    assert any("without its prior, top would be near" in one for one in target.model_warnings())


def folded(top, r):
    return -np.logaddexp(-0.5 * (r - top) ** 2, -0.5 * (r + top) ** 2)


@pytest.mark.filterwarnings("ignore::tunamh.SeveralModes")
def test_several_modes_beside_a_curve_are_refused():
    """Chains that propose scales and coefficients do not move between modes."""
    target = tunamh.nonlinear(folded, TABLE, {"top": "~ s(w)"})
    assert len(target.modes) == 2
    with pytest.raises(tunamh.NotApplicable, match=r"has 2 modes, .* give priors that tell them apart, or curves"):
        drawn(target)
    one = tunamh.nonlinear(folded, TABLE, {"top": "~ s(w)"}, prior={"top": Normal(mean=5, scale=0.3)})
    assert len(one.modes) == 1


def test_what_is_refused():
    with pytest.raises(
        FormulaError, match=r"scale has the prior Normal.* in the family, but s\(x\) .* leave the prior of the fam"
    ):
        tunamh.regression("y ~ z", TABLE, family=tunamh.Gaussian(Normal(scale=1)), predictors={"scale": "~ s(x)"})
    with pytest.raises(TypeError, match="if another predictor has a curve, only independent Normal and Flat"):
        tunamh.regression("y ~ z", TABLE, predictors={"scale": "~ s(x)"}, prior={"z": tunamh.priors.Laplace(scale=1)})
    with pytest.raises(TypeError, match="if another predictor has a curve"):
        tunamh.regression("y ~ z", TABLE, predictors={"scale": "~ s(x)"}, prior=tunamh.priors.Horseshoe(0.1))
    with pytest.raises(FormulaError, match=r"of the predictor of scale: .*names 's\(w\)', which is not a term"):
        tunamh.regression("y ~ z", TABLE, predictors={"scale": "~ s(x)"}, prior={"scale s(w)": HalfCauchy(1)})
    with pytest.raises(TypeError, match=r"the prior of s\(x\) is the prior of its scale"):
        tunamh.regression("y ~ z", TABLE, predictors={"scale": "~ s(x)"}, prior={"scale s(x)": Normal(scale=1)})


# ---------------------------------------------------------------- the law of scales where rows' energies are not convex


def test_a_direction_that_falls_does_not_lead_scales_away():
    """Rows whose curvature along one wiggle is slightly negative: with a curvature of nearly none in its place, the law
    of the scale was one of scales about e^15, and no proposal was accepted."""
    hessian, slopes = np.diag([50.0, 20.0, -0.06]), np.array([0.5, -0.3, 0.4])
    about = np.array([0.3, 0.1, 0.0])
    law = NestedLaw(
        hessian, hessian @ about - slopes, np.ones((3, 1)), np.zeros(3), ScalePrior(np.array([3.0]), np.ones(1)), about
    )
    law.tables()
    assert abs(law.lam[0]) < 6
    values = np.linalg.eigvalsh(law.C)
    assert values.min() == pytest.approx(0.16)  # the slope's square
    assert law.C @ about - law.k == pytest.approx(slopes)  # slopes at the centre stay
    convex = NestedLaw(
        np.abs(hessian), slopes, np.ones((3, 1)), np.zeros(3), ScalePrior(np.array([3.0]), np.ones(1)), about
    )
    assert np.array_equal(convex.C, np.abs(hessian))
    assert np.array_equal(convex.k, slopes)


def beside_a_saddle():
    """Rows whose search for a mode stops beside a saddle, under the widths of scales that it begins with."""
    rng, n = np.random.default_rng(0), 400
    table = {"x": rng.uniform(size=n), "z": rng.normal(size=n), "g": rng.choice(list("abcdef"), n)}
    table["y"] = np.sin(6 * table["x"]) + 0.3 * table["z"] + rng.normal(size=n) * np.exp(0.5 * table["x"])
    return table


def test_curves_whose_first_centre_is_a_saddle_are_sampled():
    """They were drawn given the scales, from a law that is none there: an error, "the proposal's ratio is NaN"."""
    target = tunamh.regression("y ~ s(x) + z", beside_a_saddle(), family="gaussian", predictors={"scale": "~ s(z)"})
    assert not target.modes[0].posterior.metric().positive_definite
    posterior = tunamh.sample(target, draws=1000, rng=1, progressbar=False)
    assert "together" in posterior.posterior.attrs["choice"]
    assert arviz_stats.ess(posterior.posterior["sigma_s(z)_sigma"].values) > 100


def test_proposals_given_the_scales_have_a_law_beside_a_saddle(monkeypatch):
    """There the rows' quadratic falls in a direction, and under large scales the prior does not hold it."""
    monkeypatch.setattr("tunamh.sampling.choice._nested", lambda target: None)
    target = tunamh.regression("y ~ s(x) + z", beside_a_saddle(), family="gaussian", predictors={"scale": "~ s(z)"})
    posterior = tunamh.sample(target, draws=300, rng=1, progressbar=False)
    assert "in turn" in posterior.posterior.attrs["choice"]
    assert float(posterior.sample_stats["acceptance_rate"].mean()) > 0.1


@pytest.mark.long
def test_beside_groups_a_centre_without_a_quadratic_is_not_taken():
    """The second centre was where one row has a scale near zero: a LinAlgError."""
    target = tunamh.regression(
        "y ~ s(x) + z + (1 | g)", beside_a_saddle(), family="gaussian", predictors={"scale": "~ s(z)"}
    )
    assert np.isfinite(target.wide_prior.lam).all()
