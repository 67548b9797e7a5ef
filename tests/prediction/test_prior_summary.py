"""The table of priors: every parameter that a summary has, with the prior that chains use."""

from dataclasses import fields, is_dataclass

import numpy as np
import pandas as pd
import pytest

import tunamh
from tunamh import priors
from tunamh.errors import NotApplicable
from tunamh.priors.registry import PRIORS

RNG = np.random.default_rng(3)
N = 120
TABLE = pd.DataFrame(
    {
        "x": RNG.normal(5, 1, N),
        "c": RNG.choice(["p", "q", "r"], N),
        "g": RNG.integers(6, size=N).astype(str),
        "y": RNG.normal(size=N),
        "n": RNG.poisson(2, N),
    }
)
TABLE["o"] = pd.cut(TABLE["y"], [-99, -1, 1, 99], labels=["low", "mid", "high"])


def made(formula, **given):
    return tunamh.regression(formula, TABLE, **given)


def told(target):
    return tunamh.prior_summary(target)["prior"].to_dict()


def test_a_formula_with_groups():
    target = made(
        "y ~ x + c + (x | g)",
        prior={
            "x": priors.StudentT(df=4, mean=1, scale=2),
            "c": tunamh.Flat(),
            "Intercept": priors.Cauchy(scale=3),
            "(x | g)": [tunamh.HalfNormal(1), tunamh.HalfCauchy(0.1)],
            "correlation (x | g)": 3,
        },
        family=tunamh.Gaussian(priors.Exponential(2)),
    )
    table = tunamh.prior_summary(target)
    assert table["prior"].to_dict() == {
        "Intercept": "Cauchy, centre 0, scale 3",
        "x": "Student-t, 4 degrees of freedom, centre 1, scale 2",
        "c[q]": "flat",
        "c[r]": "flat",
        "sigma": "exponential, mean 2",
        "1|g_sigma": "half-normal, scale 1",
        "x|g_sigma": "half-Cauchy, scale 0.1",
        "1,x|g_corr": "LKJ(3) of the correlation matrix",
    }
    assert table["role"].tolist() == [
        *["coefficient"] * 4,
        "parameter of the family",
        *["standard deviation of group effects"] * 2,
        "correlation of group effects",
    ]
    assert "The effects of g (6 levels) are normal" in repr(table)


@pytest.mark.parametrize(
    ("formula", "given"),
    [
        ("y ~ x + c", {"family": "student-t"}),
        ("y ~ x + c + (1 | g) + (0 + x | c)", {}),
        ("n ~ x", {"family": tunamh.ZeroInflated(tunamh.NegativeBinomial())}),
        ("n ~ x", {"family": tunamh.ZeroInflated(tunamh.Poisson()), "predictors": {"inflation": "~ x + c"}}),
        ("o ~ x + c", {"family": "ordinal"}),
        ("c ~ x", {"family": "categorical"}),
        ("y ~ x + c", {"predictors": {"scale": "~ x"}}),
    ],
)
def test_every_parameter_of_a_summary_has_a_line(formula, given):
    target = made(formula, **given)
    posterior = tunamh.sample(target, draws=20, tune=20, chains=1, rng=1)
    assert tunamh.prior_summary(target).index.tolist() == tunamh.summary(posterior).index.tolist()


def test_defaults_have_their_numbers():
    size = 2.5 / TABLE["x"].std(ddof=0)
    assert told(made("n ~ x", family="poisson"))["x"] == f"normal, mean 0, standard deviation {size:.3g}"
    found = tunamh.prior_summary(made("o ~ x", family="ordinal"))
    assert found["prior"]["threshold[low|mid]"] == "Student-t, 3 degrees of freedom, centre 0, scale 2.5"
    assert "for a typical row" in repr(found)
    assert "typical" not in repr(tunamh.prior_summary(made("o ~ x", family=tunamh.Ordinal(tunamh.Normal(scale=5)))))
    inflated = told(made("n ~ x", family=tunamh.ZeroInflated(tunamh.Poisson())))
    assert inflated["inflation"] == "uniform from 0 to 1"


def test_arrays():
    X, y = TABLE[["x"]], TABLE["y"]
    assert told(tunamh.GLM(X, y, tunamh.Gaussian(2.0))) == {"theta[x]": "flat"}
    known = tunamh.MixedModel(X, y, tunamh.Gaussian(1.0), groups=tunamh.GroupEffects(TABLE["g"], scale=2.0))
    assert told(known) == {"theta[x]": "flat"}
    assert "known standard deviation 2" in repr(tunamh.prior_summary(known))
    both = X.assign(z=1.0)
    together = tunamh.GLM(both, y, tunamh.Gaussian(1.0), prior=tunamh.Normal(covariance=np.eye(2)))
    assert told(together)["theta[z]"] == "normal, with a covariance matrix, of all coefficients together"


def test_unknown_scales_of_coefficients():
    shrunk = told(made("y ~ x + c", prior=priors.Horseshoe(0.1)))
    assert shrunk["x"] == "horseshoe, global scale half-Cauchy, scale 0.1"
    assert shrunk["Intercept"].startswith("normal, mean")
    shared = told(made("y ~ x + c", prior=priors.Grouped(scale=tunamh.HalfStudentT(3, 2))))
    assert shared["x"] == ("normal, mean 0, unknown standard deviation (half-Student-t, 3 degrees of freedom, scale 2)")


def test_every_prior_of_a_positive_parameter_has_words():
    numbers = {"Uniform": (0.5, 2.0), "HalfStudentT": (3.0, 2.5)}
    words = {}
    for name, kind in PRIORS.items():
        if not is_dataclass(kind) or not issubclass(kind, priors.PositivePrior):
            continue
        if name not in ("FlatPositive", "OnVariance", "OnPrecision"):
            given = kind(*numbers.get(name, (2.0, 3.0)[: len(fields(kind))]))
            words[name] = told(made("y ~ x", family=tunamh.Gaussian(given)))["sigma"]
            of_variance = tunamh.Gaussian(priors.OnVariance(given))
            assert told(made("y ~ x", family=of_variance))["sigma"] == f"{words[name]} (of the variance)"
    assert words["Uniform"] == "uniform from 0.5 to 2"
    assert words["Gamma"] == "gamma, shape 2, scale 3"
    assert words["InverseGamma"] == "inverse gamma, shape 2, scale 3"
    assert words["LogNormal"] == "log-normal, mean 2 and standard deviation 3 of the logarithm"
    assert len(set(words.values())) == len(words)


def test_what_is_no_regression():
    with pytest.raises(NotApplicable, match="prior_summary is for regressions"):
        tunamh.prior_summary(tunamh.GaussianMixture([0.0, 1.0]))
    with pytest.raises(NotApplicable, match="got 'y ~ x'"):
        tunamh.prior_summary("y ~ x")


def test_scales_of_groups_keep_their_lines_beside_curves():
    """Unknown scales of curves stand before those of groups in a draw."""
    rng = np.random.default_rng(3)
    columns = {"x": rng.uniform(0, 9, 200), "g": rng.choice(list("abcd"), 200), "y": rng.integers(0, 2, 200)}
    groups = {"1 | g": tunamh.HalfNormal(0.7)}
    model = tunamh.regression("y ~ s(x, k=6) + (1 | g)", pd.DataFrame(columns), family="logistic", prior=groups)
    table = tunamh.prior_summary(model)
    assert table.index[-2:].tolist() == ["s(x)_sigma", "1|g_sigma"]
    assert table["prior"].iloc[-2:].tolist() == [
        "half-Student-t, 3 degrees of freedom, scale 1",
        "half-normal, scale 0.7",
    ]
