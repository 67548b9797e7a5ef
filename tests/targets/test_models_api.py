"""What a user of the families with further parameters meets: names, starts, errors, refusals and forms of data."""

import warnings
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

import tunamh
from tunamh import GLM, MH, ConvergenceWarning, ImproperPosterior, Normal, Taylor, check_bounds, priors, sample
from tunamh.rows.source import Rows

N = 80
RNG = np.random.default_rng(31)
X = np.column_stack([np.ones(N), RNG.normal(size=N)])
TABLE = pd.DataFrame(X, columns=["one", "x"])
Z = pd.DataFrame({"one": np.ones(N), "u": RNG.normal(size=N)})
ETA = X @ [0.2, 0.5]
REALS = ETA + 0.7 * RNG.standard_t(4, N)
TIMES = np.exp(ETA + 0.5 * RNG.normal(size=N))
COUNTS = RNG.poisson(np.exp(ETA + 0.4) * RNG.gamma(2, 0.5, N)).astype(float)
ZEROS = np.where(RNG.random(N) < 0.3, 0.0, COUNTS)
CLASSES = (ETA + RNG.logistic(size=N) > np.array([[-0.5], [1.0]])).sum(axis=0).astype(float)
SHARES = 1 / (1 + np.exp(-REALS))
LABELS = (REALS > 0).astype(float)
CODES = RNG.choice([-1.0, 0.0, 1.0], N, p=[0.1, 0.7, 0.2])
DF = priors.Gamma(2, 10)
WORDS = np.array(["low", "mid", "high"])[CLASSES.astype(int)]


def tweedie(eta, y):
    return 2 * y * np.exp(-0.5 * eta) + 2 * np.exp(0.5 * eta)


def gumbel(eta, zeta, y):
    z = (y - eta) * np.exp(-zeta)
    return z + np.exp(-z) + zeta


@dataclass
class Case:
    family: Any
    y: np.ndarray
    extras: dict = field(default_factory=dict)  # labels by variable, None of a number; and where a chain could begin
    start: tuple = ()
    more: dict = field(default_factory=dict)
    theta: tuple = ("one", "x")


CASES = {
    "Gaussian": Case(tunamh.Gaussian(), REALS, {"scale": None}, (0.8,)),
    "Gaussian, known": Case(tunamh.Gaussian(0.8), REALS),
    "Tobit": Case(tunamh.Gaussian(), REALS, {"scale": None}, (0.8,), {"censored": CODES}),
    "Tobit, known": Case(tunamh.Gaussian(0.8), REALS, more={"censored": CODES}),
    "heteroscedastic": Case(
        tunamh.Gaussian(), REALS, {"scale": ["one", "u"]}, (-0.2, 0.1), {"predictors": {"scale": Z}}
    ),
    "Student-t": Case(tunamh.StudentT(4), REALS, {"scale": None}, (0.7,)),
    "Student-t, df": Case(tunamh.StudentT(DF), REALS, {"scale": None, "df": None}, (0.7, 5.0)),
    "Student-t, df, known scale": Case(tunamh.StudentT(None, 0.7), REALS, {"df": None}, (5.0,)),
    "Huber": Case(tunamh.Huber(), REALS, {"scale": None}, (0.7,)),
    "logistic errors": Case(tunamh.LogisticErrors(), REALS, {"scale": None}, (0.5,)),
    "log-normal": Case(tunamh.LogNormal(), TIMES, {"scale": None}, (0.6,)),
    "log-logistic": Case(tunamh.LogLogistic(), TIMES, {"scale": None}, (0.4,), {"censored": CODES}),
    "Weibull": Case(tunamh.Weibull(), TIMES, {"shape": None}, (2.0,), {"censored": CODES}),
    "Poisson": Case(tunamh.Poisson(), COUNTS),
    "exponential": Case(tunamh.Exponential(), TIMES),
    "exponential, censored": Case(tunamh.Exponential(), TIMES, more={"censored": CODES}),
    "gamma": Case(tunamh.Gamma(), TIMES, {"shape": None}, (2.0,)),
    "negative binomial": Case(tunamh.NegativeBinomial(), COUNTS, {"dispersion": None}, (2.0,)),
    "zero-inflated": Case(tunamh.ZeroInflated(tunamh.Poisson()), ZEROS, {"inflation": None}, (0.3,)),
    "zero-inflated negative binomial": Case(
        tunamh.ZeroInflated(tunamh.NegativeBinomial()), ZEROS, {"inflation": None, "dispersion": None}, (0.3, 2.0)
    ),
    "zero-inflated negative binomial, columns": Case(
        tunamh.ZeroInflated(tunamh.NegativeBinomial()),
        ZEROS,
        {"inflation": ["one", "u"], "dispersion": None},
        (0.2, 0.1, 2.0),
        {"predictors": {"inflation": Z}},
    ),
    "hurdle": Case(tunamh.Hurdle(tunamh.Poisson()), ZEROS, {"positive": None}, (0.6,)),
    "hurdle, columns": Case(
        tunamh.Hurdle(tunamh.Poisson()),
        ZEROS,
        {"positive": ["one", "u"]},
        (0.2, 0.1),
        {"predictors": {"positive": Z}},
    ),
    "beta": Case(tunamh.Beta(), SHARES, {"precision": None}, (4.0,)),
    "categorical": Case(tunamh.Categorical(), CLASSES, theta=("one[1]", "x[1]", "one[2]", "x[2]")),
    "ordinal": Case(tunamh.Ordinal(), CLASSES, {"cutpoint": ["0|1", "1|2"]}, (-0.5, 1.0)),
    "piecewise exponential": Case(
        tunamh.PiecewiseExponential((1.0, 2.0)),
        TIMES,
        {"log_hazard": ["0 to 1", "1 to 2", "2 on"]},
        (-0.5, 0.1, 0.4),
        {"censored": np.maximum(CODES, 0.0)},
    ),
    "cloglog": Case(tunamh.Cloglog(), LABELS),
    "probit, trials": Case(tunamh.Probit(), np.round(3 * SHARES), more={"trials": np.full(N, 3)}),
    "Tweedie": Case(tunamh.family(tweedie, convex=True), TIMES),
    "Gumbel": Case(tunamh.family(gumbel), REALS, {"zeta": None}, (0.1,)),
}
FAMILIES = pytest.mark.parametrize("name", CASES)
PROPER = Normal(scale=3.0)


def target_of(name, table=TABLE, prior=PROPER, **other):
    """The cutpoints of ordered categories have the place of an intercept, which a prior keeps apart from them."""
    case = CASES[name]
    return GLM(table, case.y, case.family, prior=prior, **{**case.more, **other})


def quick(target, **settings):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return sample(target, **{"draws": 30, "tune": 30, "chains": 2, "rng": 1, "progressbar": False, **settings})


@cache
def plain_target(name):
    """One for all tests that change nothing of it, and so one search for its mode."""
    return target_of(name)


@cache
def plain_tree(name):
    return quick(plain_target(name))


# ----------------------------------------------------------------------------------------------------------- names


@FAMILIES
def test_variables_and_labels_of_the_draws(name):
    case, tree = CASES[name], plain_tree(name)
    posterior = tree.posterior
    assert list(posterior.data_vars) == ["theta", *case.extras]
    assert list(posterior["theta"].coords["parameter"].values) == list(case.theta)
    expected = [f"theta[{label}]" for label in case.theta]
    for extra, labels in case.extras.items():
        assert posterior[extra].shape == ((2, 30) if labels is None else (2, 30, len(labels)))
        if labels is not None:
            assert list(posterior[extra].coords[f"{extra}_parameter"].values) == labels
        expected += [extra] if labels is None else [f"{extra}[{label}]" for label in labels]
    assert list(tunamh.summary(tree).index) == expected
    assert np.isfinite(tunamh.summary(tree)["mean"]).all()


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.extras])
def test_draws_are_in_the_range_of_their_parameter(name):
    posterior = plain_tree(name).posterior
    for extra, labels in CASES[name].extras.items():
        values = posterior[extra].values
        if labels is None and extra != "zeta":
            assert (values > 0).all()
        if extra in ("inflation", "positive") and labels is None:
            assert (values < 1).all()
        if extra == "cutpoint":
            assert (np.diff(values, axis=-1) > 0).all()


@FAMILIES
def test_warnings_and_summary_call_parameters_the_same(name):
    """A ConvergenceWarning takes the names of `reported`."""
    case, target = CASES[name], plain_target(name)
    expected = [f"theta[{label}]" for label in case.theta]
    for extra, labels in case.extras.items():
        expected += [extra] if labels is None else [f"{extra}[{label}]" for label in labels]
    assert target.reported == expected


def test_one_number_serves_all_rows():
    all_rows = {"trials": np.full(N, 3), "offset": np.full(N, 0.5)}
    one, other = (
        GLM(TABLE, CASES["probit, trials"].y, tunamh.Probit(), prior=PROPER, **more)
        for more in ({"trials": 3, "offset": 0.5}, all_rows)
    )
    points = RNG.normal(size=(4, 2))
    assert density(one, points) == pytest.approx(density(other, points), rel=1e-12)


def test_a_target_shows_its_family():
    assert repr(target_of("Student-t, df, known scale")).startswith(
        "GLM(StudentT(df=None, scale=0.7), 80 rows, 3 param"
    )
    assert repr(tunamh.LogisticRegression(X, LABELS)).startswith("LogisticRegression(80 rows")


# ---------------------------------------------------------------------------------------------------------- starts


@FAMILIES
@pytest.mark.parametrize("settings", [{}, {"test": MH(), "proposal": tunamh.RandomWalk(1e-9)}], ids=["auto", "MH"])
def test_chains_begin_where_a_user_says_in_the_users_parameters(name, settings):
    case, target = CASES[name], plain_target(name)
    natural = np.array([*np.full(len(case.theta), 0.1), *case.start])
    assert target.to_user(target.to_chain(natural)) == pytest.approx(natural)
    names = [*case.theta, *(label for extra, labels in case.extras.items() for label in labels or [extra])]
    inits = [natural]
    if len(set(names)) == len(names):
        inits.append(dict(zip(names, natural, strict=True)))
    trees = [quick(target, init=init, tune=0, draws=1, **settings) for init in inits]
    for tree in trees:
        values = [tree.posterior["theta"].values, *(tree.posterior[extra].values for extra in case.extras)]
        drawn = np.concatenate([value.reshape(2, -1) for value in values], axis=1)
        if settings:  # so short a step stays where it began
            assert drawn == pytest.approx(np.tile(natural, (2, 1)), abs=1e-5)
        first = [trees[0].posterior["theta"].values, *(trees[0].posterior[extra].values for extra in case.extras)]
        np.testing.assert_array_equal(drawn, np.concatenate([value.reshape(2, -1) for value in first], axis=1))


def test_impossible_starts_are_refused():
    with pytest.raises(tunamh.NonFiniteEnergy, match="initial state"):
        quick(target_of("Gaussian"), init=[0.1, 0.1, -1.0])
    with pytest.raises(tunamh.NonFiniteEnergy, match="initial state"):
        quick(target_of("ordinal"), init=[0.1, 0.1, 1.0, -1.0])
    with pytest.raises(ValueError, match="init must name every parameter and no other: one, x, scale"):
        quick(target_of("Gaussian"), init={"one": 0.1, "x": 0.1})
    with pytest.raises(ValueError, match=r"init must have shape \(3,\)"):
        quick(target_of("Gaussian"), init=[0.1, 0.1])


# ---------------------------------------------------------------------------------------------------------- priors


def density(target, points):
    """Minus energies at points of a user, up to a constant that is the same for all of them."""
    return -target.energies_at(np.array([target.to_chain(np.asarray(point, dtype=float)) for point in points]))


@pytest.mark.parametrize("name", ["Student-t", "negative binomial", "ordinal", "heteroscedastic", "categorical"])
def test_priors_go_by_the_names_of_coefficients(name):
    case = CASES[name]
    scales = dict(zip(case.theta, [0.5, 2.0, 0.7, 1.5], strict=False))
    by_name = target_of(name, prior=priors.ByName({key: Normal(scale=value) for key, value in scales.items()}))
    in_order = target_of(name, prior=Normal(scale=list(scales.values())))
    backwards = target_of(name, prior=Normal(scale=dict(reversed(scales.items()))))
    points = [[*RNG.normal(size=len(case.theta)), *case.start] for _ in range(4)]
    for other in (in_order, backwards):
        assert density(by_name, points) == pytest.approx(density(other, points), rel=1e-12)


def test_a_prior_of_coefficients_names_no_scale():
    with pytest.raises(ValueError, match="names scale; it must name every column of the data and no other: one, x"):
        target_of("Gaussian", prior=Normal(scale={"one": 1.0, "x": 1.0, "scale": 1.0}))


# ---------------------------------------------------------------------------------------------------------- errors


def spoilt(values, wrong, row=7):
    values = np.array(values, dtype=float)
    values[row] = wrong
    return values


WRONG_RESPONSES = {
    "Gaussian": (np.nan, "y has nan in row 7"),
    "log-normal": (0.0, "LogNormal is for positive responses, but row 7 has 0"),
    "log-logistic": (-1.0, "LogLogistic is for positive responses, but row 7 has -1"),
    "Weibull": (0.0, "Weibull is for positive responses, but row 7 has 0"),
    "Poisson": (0.5, "counts .* but row 7 has 0.5"),
    "exponential": (0.0, "y must be positive, but row 7 has 0"),
    "gamma": (-2.0, "y must be positive, but row 7 has -2"),
    "negative binomial": (-1.0, "counts .* but row 7 has -1"),
    "zero-inflated": (1.5, "counts .* but row 7 has 1.5"),
    "hurdle": (-1.0, "counts .* but row 7 has -1"),
    "beta": (1.0, "between 0 and 1, both excluded, but row 7 has 1"),
    "categorical": (1.5, "classes in y must be whole numbers .* but row 7 has 1.5"),
    "ordinal": (-1.0, "categories must be whole numbers .* but row 7 has -1"),
    "cloglog": (0.5, "labels in y must be 0 or 1, but row 7 has 0.5"),
    "probit, trials": (4.0, "from 0 to trials, but row 7 has y = 4 of 3 trials"),
}


@pytest.mark.parametrize("name", WRONG_RESPONSES)
def test_wrong_responses_are_named(name):
    wrong, message = WRONG_RESPONSES[name]
    case = CASES[name]
    with pytest.raises(ValueError, match=message):
        GLM(X, spoilt(case.y, wrong), case.family, **case.more)


HALF = tunamh.HalfNormal(1.0)
OTHER_ROWS = {"predictors": {"scale": Z[:5]}}

MISTAKES = {
    "codes": (lambda: GLM(X, REALS, tunamh.Gaussian(), censored=spoilt(CODES, 2)), ValueError, "but row 7 has 2"),
    "half a code": (lambda: GLM(X, TIMES, tunamh.Weibull(), censored=spoilt(CODES, 0.5)), ValueError, "row 7 has 0.5"),
    "too few codes": (
        lambda: GLM(X, TIMES, tunamh.Weibull(), censored=CODES[:5]),
        ValueError,
        "censored has 5 entries, but there are 80 rows",
    ),
    "codes for another family": (
        lambda: GLM(X, REALS, tunamh.StudentT(), censored=CODES),
        TypeError,
        "LogLogistic, LogNormal, LogisticErrors, PiecewiseExponential and Weibull responses, not for StudentT",
    ),
    "trials of halves": (
        lambda: GLM(X, LABELS, tunamh.Logistic(), trials=np.full(N, 1.5)),
        ValueError,
        "trials must be whole numbers from 0 on, but row 0",
    ),
    "trials of counts": (
        lambda: GLM(X, COUNTS, tunamh.Poisson(), trials=np.ones(N)),
        TypeError,
        "Poisson has no labels",
    ),
    "an unknown predictor": (
        lambda: GLM(X, REALS, tunamh.Gaussian(), predictors={"sclae": Z}),
        ValueError,
        "predictors names 'sclae', .* are scale",
    ),
    "a predictor of a family with none": (
        lambda: GLM(X, COUNTS, tunamh.Poisson(), predictors={"scale": Z}),
        ValueError,
        "Poisson does not describe by columns: it has none",
    ),
    "other rows": (
        lambda: GLM(X, REALS, tunamh.Gaussian(), **OTHER_ROWS),
        ValueError,
        r"predictors\['scale'\] has 5 rows, but X has 80",
    ),
    "predictors that are a table": (
        lambda: GLM(X, REALS, tunamh.Gaussian(), predictors=Z),
        TypeError,
        "predictors must be a dict of tables by parameter",
    ),
    "predictors of a known scale": (
        lambda: GLM(X, REALS, tunamh.Gaussian(2.0), predictors={"scale": Z}),
        TypeError,
        "scale depends on columns",
    ),
    "predictors of a positive prior": (
        lambda: GLM(X, REALS, tunamh.Gaussian(HALF), predictors={"scale": Z}),
        TypeError,
        "scale depends on columns, so its prior must be a prior of coefficients",
    ),
    "predictors and censoring": (
        lambda: GLM(X, REALS, tunamh.Gaussian(), predictors={"scale": Z}, censored=CODES),
        ValueError,
        "censored= and predictors= together are not offered",
    ),
    "a scale that is text": (lambda: tunamh.StudentT(scale="x"), TypeError, "scale must be a number .* got 'x'"),
    "a negative scale": (lambda: tunamh.Huber(scale=-1), ValueError, "scale must be positive and finite, got -1"),
    "a scale of zero": (lambda: tunamh.LogNormal(0), ValueError, "scale must be positive and finite, got 0"),
    "a prior of the wrong kind": (
        lambda: tunamh.LogisticErrors(Normal()),
        TypeError,
        "a prior of a positive parameter .* got Normal",
    ),
    "a prior of coefficients for the scale": (
        lambda: GLM(X, REALS, tunamh.Gaussian(Normal())),
        TypeError,
        "the prior of a scale must be a prior of a positive parameter, got Normal",
    ),
    "that of a limited response": (
        lambda: GLM(X, REALS, tunamh.Gaussian(Normal()), censored=CODES),
        TypeError,
        "the prior of a scale must be a prior of a positive parameter, got Normal",
    ),
    "a class as prior": (lambda: tunamh.Gaussian(tunamh.HalfNormal), TypeError, "scale is the class HalfNormal"),
    "a df that is text": (lambda: tunamh.StudentT("4"), TypeError, "df must be a number"),
    "a shape below zero": (lambda: tunamh.Weibull(-2), ValueError, "shape must be positive and finite, got -2"),
    "a dispersion with a normal prior": (
        lambda: tunamh.NegativeBinomial(Normal()),
        TypeError,
        "dispersion must be a number",
    ),
    "a known precision": (lambda: GLM(X, SHARES, tunamh.Beta(3.0)), ValueError, "a known precision is not offered"),
    "a prior of coefficients for a precision": (
        lambda: GLM(X, SHARES, tunamh.Beta(Normal())),
        ValueError,
        "is a prior of coefficients of columns: pass predictors={'precision': Z} too",
    ),
    "inflated by another family": (
        lambda: tunamh.ZeroInflated(tunamh.Logistic()),
        TypeError,
        r"needs the family of the counts, Poisson\(\) or NegativeBinomial\(\), got Logistic",
    ),
    "a hurdle of another family": (
        lambda: tunamh.Hurdle(tunamh.NegativeBinomial()),
        TypeError,
        r"needs the family of the counts, Poisson\(\), got NegativeBinomial",
    ),
    "inflated with a known dispersion": (
        lambda: tunamh.ZeroInflated(tunamh.NegativeBinomial(2.0)),
        ValueError,
        "a known dispersion is not offered. A narrow prior comes close",
    ),
    "a prior of a probability": (
        lambda: GLM(X, ZEROS, tunamh.Hurdle(tunamh.Poisson(), Normal())),
        ValueError,
        "pass predictors={'positive': Z} too",
    ),
    "a cutpoint that is a number": (lambda: tunamh.Ordinal(3.0), TypeError, "cutpoint must be a prior"),
    "a category that is missing": (
        lambda: GLM(X, np.where(CLASSES == 1, 0, CLASSES), tunamh.Ordinal()),
        ValueError,
        "every category from 0 to 2 must occur, but none has 1",
    ),
    "one category": (lambda: GLM(X, np.ones(N), tunamh.Ordinal()), ValueError, "all rows have the same"),
    "one class": (lambda: GLM(X, np.ones(N), tunamh.Categorical()), ValueError, "all rows of y have the same class"),
    "text without an order": (
        lambda: GLM(X, WORDS, tunamh.Ordinal()),
        TypeError,
        r"y holds text without an order, and Ordinal\(\) needs one: give an ordered categorical",
    ),
    "categories without an order": (
        lambda: GLM(X, pd.Series(WORDS, dtype="category"), tunamh.Ordinal()),
        TypeError,
        "y holds categories without an order",
    ),
    "a category that no row has": (
        lambda: GLM(
            X, pd.Categorical(WORDS, categories=["low", "none", "mid", "high"], ordered=True), tunamh.Ordinal()
        ),
        ValueError,
        "no row of y has the category 'none'.*remove_unused_categories",
    ),
    "text as counts": (
        lambda: GLM(X, WORDS, tunamh.Poisson()),
        TypeError,
        r"y holds text, and Poisson is for numbers: .*more for Categorical\(\), ordered ones for Ordinal\(\)",
    ),
    "a class left out": (
        lambda: GLM(X, pd.Series([None, *WORDS[1:]], dtype=object), tunamh.Categorical()),
        ValueError,
        "y has a missing value in row 0",
    ),
    "a table with NaN": (
        lambda: GLM(X, REALS, tunamh.Gaussian(), predictors={"scale": Z.assign(u=np.nan)}),
        ValueError,
        r"predictors\['scale'\] has nan in row 0, column u",
    ),
    "a table with text": (
        lambda: GLM(X, REALS, tunamh.Gaussian(), predictors={"scale": Z.assign(u="a")}),
        TypeError,
        r"predictors\['scale'\] holds text in column u: code categories",
    ),
    "a table of one dimension": (
        lambda: GLM(X, REALS, tunamh.Gaussian(), predictors={"scale": np.ones(N)}),
        ValueError,
        r"predictors\['scale'\] must have two dimensions",
    ),
    "a prior by position": (
        lambda: Normal(0, 1),
        TypeError,
        r"Normal takes its numbers by name.*Normal\(mean=0, scale=1\)",
    ),
    "a number by position": (lambda: Normal(10), TypeError, r"such as Normal\(scale=10\)"),
    "a Student-t prior by position": (
        lambda: priors.StudentT(3, 0, 1),
        TypeError,
        r"such as StudentT\(df=3, mean=0, scale=1\)",
    ),
    "a category without weight": (
        lambda: GLM(X, CLASSES, tunamh.Ordinal(), weights=(CLASSES != 1).astype(float)),
        ValueError,
        "none has 1",
    ),
    "a family that is a class": (lambda: GLM(X, CLASSES, tunamh.Categorical), TypeError, "such as Categorical"),
    "an unknown shared parameter": (
        lambda: tunamh.family(gumbel, shared={"scale": Normal()}),
        ValueError,
        "its shared parameters are zeta",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_are_explained_in_whole_sentences(name):
    make, kind, message = MISTAKES[name]
    with pytest.raises(kind, match=message) as caught:
        make()
    assert str(caught.value).endswith(".")


class InBlocks:
    """A source of two blocks."""

    n_rows, names, fingerprint = N, None, "two blocks"

    def __init__(self, y):
        self.y = y

    def map(self, function):
        for start in (0, N // 2):
            part = slice(start, start + N // 2)
            yield function(Rows(start, X[part], self.y[part]))


@pytest.mark.parametrize("name", ["Gaussian", "Student-t, df", "negative binomial", "ordinal", "beta", "categorical"])
def test_a_source_gives_the_same_posterior(name):
    case = CASES[name]
    source = GLM(InBlocks(case.y), family=case.family, prior=PROPER)
    points = [[*RNG.normal(scale=0.3, size=len(case.theta)), *case.start] for _ in range(4)]
    plain = density(GLM(X, case.y, case.family, prior=PROPER), points)
    assert np.diff(density(source, points)) == pytest.approx(np.diff(plain), rel=1e-9)


@pytest.mark.parametrize("also", [{"censored": CODES}, {"predictors": {"scale": Z}}], ids=["censored", "predictors"])
def test_a_source_brings_its_own(also):
    with pytest.raises(TypeError, match="a source gives its own"):
        GLM(InBlocks(REALS), family=tunamh.Gaussian(), **also)


# ------------------------------------------------------------------------------------------------- no posterior at all

REFUSED = ImproperPosterior, ConvergenceWarning, UserWarning


def strictly(target):
    """Sample it with every warning an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sample(target, draws=500, rng=1, progressbar=False)


COLLINEAR = [name for name in CASES if name not in ("ordinal",)]


@pytest.mark.parametrize("name", COLLINEAR)
def test_collinear_columns_under_a_flat_prior_are_refused(name):
    doubled = np.column_stack([X, X[:, 1] - 2 * X[:, 0]])
    with pytest.raises(ImproperPosterior, match="collinear"):
        quick(target_of(name, doubled, prior=None))


def test_an_intercept_beside_cutpoints_is_not_silently_sampled():
    """Only the priors of the cutpoints hold the sum of the two back."""
    tree = sample(target_of("ordinal", prior=None), draws=2000, rng=1, progressbar=False)
    apart = tree.posterior["cutpoint"].values[..., 0] - tree.posterior["theta"].values[..., 0]
    longer = tree.posterior["theta"].values[..., 0].std()
    assert longer > 2 * apart.std()  # as wide as the Student-t prior makes it


@pytest.mark.parametrize("name", [name for name in CASES if name != "ordinal"])
def test_a_posterior_under_a_flat_prior_is_not_doubted(name):
    assert [said for said in target_of(name, prior=None).model_warnings() if "does not increase" in said] == []


PERFECT = {
    "Gaussian": (tunamh.Gaussian(), ETA),
    "Gaussian, half-normal": (tunamh.Gaussian(HALF), ETA),
    "Student-t": (tunamh.StudentT(4), ETA),
    "Huber": (tunamh.Huber(), ETA),
    "logistic errors": (tunamh.LogisticErrors(), ETA),
    "log-normal": (tunamh.LogNormal(), np.exp(ETA)),
    "Weibull": (tunamh.Weibull(), np.exp(ETA)),
}


@pytest.mark.parametrize("name", PERFECT)
def test_a_perfect_fit_is_refused_or_warned_of(name):
    """The density of the scale grows without end towards zero."""
    family, y = PERFECT[name]
    with pytest.raises(REFUSED):
        strictly(GLM(X, y, family))


SEPARATED = np.digitize(X[:, 1], [-0.5, 0.5]).astype(float)


def test_separated_classes_are_refused():
    with pytest.raises(ImproperPosterior, match="separable"):
        quick(GLM(X, SEPARATED, tunamh.Categorical()))
    quick(GLM(X, SEPARATED, tunamh.Categorical(), prior=Normal(scale=2.0)))


def test_a_class_without_weight_is_refused_under_a_flat_prior():
    with pytest.raises(ImproperPosterior, match="separable"):
        quick(GLM(X, CLASSES, tunamh.Categorical(), weights=(CLASSES != 1).astype(float)))


def test_separated_categories_leave_a_posterior_with_the_tails_of_the_cutpoints_prior():
    """Cutpoints grow with the coefficient, so that their Student-t priors hold it back: not improper, but wide."""
    target = GLM(X[:, 1:], SEPARATED, tunamh.Ordinal())
    slope = sample(target, draws=4000, rng=1, progressbar=False).posterior["theta"].values.ravel()
    walked = sample(target, test=MH(), draws=4000, thin=50, rng=2, progressbar=False).posterior["theta"].values.ravel()
    assert np.quantile(slope, [0.1, 0.5, 0.9]) == pytest.approx(np.quantile(walked, [0.1, 0.5, 0.9]), rel=0.1)
    assert np.quantile(slope, 0.9) > 20


@pytest.mark.parametrize(
    ("family", "y", "more"),
    [
        (tunamh.Weibull(), TIMES, {"censored": np.ones(N)}),
        (tunamh.Gaussian(), REALS, {"censored": -np.ones(N)}),
        (tunamh.NegativeBinomial(), np.zeros(N), {}),
        (tunamh.ZeroInflated(tunamh.Poisson()), np.zeros(N), {}),
        (tunamh.Hurdle(tunamh.Poisson()), np.zeros(N), {}),
    ],
    ids=["all later", "all smaller", "no counts", "no counts, inflated", "no counts, hurdle"],
)
def test_data_that_say_nothing_on_one_side_are_refused_or_warned_of(family, y, more):
    with pytest.raises(REFUSED):
        strictly(GLM(X, y, family, **more))


@pytest.mark.parametrize(
    ("family", "y", "scale", "more"),
    [
        (tunamh.Gaussian, 100 * REALS, 80.0, {"censored": CODES}),
        (lambda scale: tunamh.StudentT(None, scale), 100 * REALS, 80.0, {}),
        (tunamh.LogisticErrors, 100 * REALS, 50.0, {}),
        (tunamh.LogNormal, TIMES, 0.5, {}),
        (tunamh.LogLogistic, TIMES, 0.3, {"censored": CODES}),
    ],
    ids=["Tobit", "Student-t, df", "logistic errors", "log-normal", "log-logistic"],
)
def test_a_known_scale_is_compared_with_residuals_in_its_own_units(family, y, scale, more):
    """Rows of such targets are standardised: their residuals are no longer measured as the scale is."""
    assert GLM(X, y, family(scale), **more).model_warnings() == []
    (told,) = GLM(X, y, family(10 * scale), **more).model_warnings()
    assert "posterior standard deviations will be too large" in told


# ---------------------------------------------------------------------------------------------------- forms of the data

ROOMS = RNG.integers(3, size=N)
ROOMS[:3] = [0, 1, 2]
DENSE = np.column_stack([X, ROOMS == 1, ROOMS == 2]).astype(float)
MIXED = pd.DataFrame({"one": 1.0, "x": X[:, 1], "room": pd.Categorical(ROOMS)})
SPARSE = scipy.sparse.csr_array(DENSE)


def same_posterior(name, one, other, *, wide=4, rel=1e-9):
    """Differences of log densities between points of a user: what a posterior is."""
    case, rng = CASES[name], np.random.default_rng(3)
    coefficients = wide * (2 if name == "categorical" else 1)
    points = [[*rng.normal(scale=0.3, size=coefficients), *case.start] for _ in range(5)]
    assert np.diff(density(one, points)) == pytest.approx(np.diff(density(other, points)), rel=rel, abs=1e-6)
    for at in points:
        assert one.to_user(one.to_chain(np.array(at))) == pytest.approx(at)


@FAMILIES
def test_categories_and_sparse_columns_give_the_same_posterior(name):
    dense = target_of(name, DENSE)
    for form in (MIXED, SPARSE):
        same_posterior(name, dense, target_of(name, form))


@FAMILIES
def test_single_precision_gives_the_posterior_of_its_own_numbers(name):
    single = DENSE.astype(np.float32)
    same_posterior(name, target_of(name, single.astype(float)), target_of(name, single))


@FAMILIES
def test_weights_of_zero_are_rows_left_out_and_of_two_rows_given_twice(name):
    case, weights = CASES[name], np.arange(N) % 3
    again = np.repeat(np.arange(N), weights)
    more = {key: np.asarray(value)[again] for key, value in case.more.items() if key != "predictors"}
    if "predictors" in case.more:
        more["predictors"] = {key: table.to_numpy()[again] for key, table in case.more["predictors"].items()}
    family = case.family
    if "scale" in case.extras and case.extras["scale"] is None:  # the default prior looks at the responses
        family = type(family)(**({"df": family.df} if hasattr(family, "df") else {}), scale=HALF)
    elif "shape" in case.extras:
        family = type(family)(HALF)
    weighted = GLM(DENSE, case.y, family, prior=PROPER, weights=weights, **case.more)
    repeated = GLM(DENSE[again], case.y[again], family, prior=PROPER, **more)
    same_posterior(name, weighted, repeated)


@pytest.mark.parametrize("name", ["Student-t", "Weibull", "negative binomial", "ordinal", "categorical", "beta"])
def test_draws_do_not_depend_on_the_form_of_the_data(name):
    """Sparse columns, categories and single precision: the same law, by draws of the automatic choice."""
    small = DENSE.astype(np.float32)
    means, errors = [], []
    for form in (small.astype(float), small, SPARSE, MIXED):
        tree = sample(target_of(name, form), draws=1500, rng=2, progressbar=False)
        table = tunamh.summary(tree, round_to="none")
        means.append(table["mean"].to_numpy())
        errors.append(table["mcse_mean"].to_numpy())
    for mean, error in zip(means[1:], errors[1:], strict=True):
        assert (np.abs(mean - means[0]) < 4.5 * np.hypot(error, errors[0])).all()


@pytest.mark.parametrize("name", ["Gaussian", "Tobit", "Student-t, df", "negative binomial", "ordinal", "categorical"])
def test_changed_data_are_noticed(name):
    case = CASES[name]
    changeable = {"X": X.copy(), "y": case.y.copy(), **{key: np.array(value) for key, value in case.more.items()}}
    for what in changeable:
        given = {key: value.copy() for key, value in changeable.items()}
        target = GLM(given.pop("X"), given.pop("y"), case.family, prior=PROPER, **given)
        held = {"X": target.user_rows.design.X, "y": target.user_rows.y, **given}[what]
        quick(target)
        held.flags.writeable = True
        held[3] = held[4] + 1.0
        with pytest.raises(ValueError, match="changed"):
            quick(target)


def test_changed_columns_of_a_second_predictor_are_noticed():
    columns = Z.to_numpy().copy()
    target = GLM(X, REALS, tunamh.Gaussian(), predictors={"scale": columns})
    columns[5, 1] += 1.0
    with pytest.raises(ValueError, match="changed"):
        quick(target)


# ---------------------------------------------------------------------------------------------------------- bounds


BOUNDED = [name for name in CASES if name != "Gumbel"]  # whose energy is infinite a dozen widths away


@pytest.mark.parametrize("name", BOUNDED)
@pytest.mark.parametrize("form", [DENSE, SPARSE, MIXED], ids=["dense", "sparse", "categories"])
def test_bounds_of_second_order_hold(name, form):
    assert check_bounds(Taylor(order=2)(target_of(name, form))) <= 1


@pytest.mark.parametrize("name", ["heteroscedastic", "hurdle, columns"])
@pytest.mark.parametrize("unit", [1e-3, 1e3])
def test_columns_of_a_second_predictor_may_have_any_unit(name, unit):
    """Not even ones among them: the search for a mode must not begin where exponentials overflow."""
    parameter = next(iter(CASES[name].extras))
    tree = quick(target_of(name, predictors={parameter: unit * Z[["u"]]}), draws=500, tune=200)
    alike = quick(target_of(name, predictors={parameter: Z[["u"]]}), draws=500, tune=200)
    if unit > 1:  # the prior of these coefficients is wide then
        assert unit * tree.posterior[parameter].mean() == pytest.approx(
            float(alike.posterior[parameter].mean()), abs=0.1
        )
    assert tree.posterior["theta"].mean() == pytest.approx(float(alike.posterior["theta"].mean()), abs=0.1)
