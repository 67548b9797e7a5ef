"""What strangers bring: every case ends in a clear message or a right answer."""

import datetime as dt
import unicodedata

import numpy as np
import pandas as pd
import pytest

import tunamh
from conftest import draws_of
from tunamh.errors import ImproperPosterior
from tunamh.formula import FormulaError
from tunamh.formula.parser import parse
from tunamh.formula.terms import columns_of, term_label, terms_of

RNG = np.random.default_rng(2)
N = 300
TABLE = pd.DataFrame(
    {
        "x": RNG.standard_normal(N),
        "z": RNG.standard_normal(N),
        "g": RNG.choice(["p", "q", "r"], N),
        "constant": 7.0,
        "one_level": "same",
        "day": [dt.date(2026, 1, 1)] * N,
        "stamp": pd.Timestamp("2026-01-01"),
        "zero": 0.0,
        "positive": RNG.exponential(size=N),
        "endless": np.where(np.arange(N) == 17, np.inf, 1.0) * RNG.random(N),
        "nothing": np.nan,
        "mixed": ["a", 1] * (N // 2),
        "text_numbers": ["1.5", "2.5"] * (N // 2),
        "id": np.arange(N),
        "flag": RNG.random(N) < 0.5,
        "complex": 1j * RNG.standard_normal(N),
        "lists": [[1, 2]] * N,
        "Größe (cm)": RNG.standard_normal(N),
        "数": RNG.standard_normal(N),
    }
)
TABLE["huge"] = 1e150 * TABLE["x"]
TABLE["x2"] = 2 * TABLE["x"]
TABLE["sum"] = TABLE["x"] + TABLE["z"] + 3
TABLE["y"] = TABLE["x"] + RNG.standard_normal(N)
TABLE["late"] = (TABLE["x"] + RNG.logistic(size=N) > 0).astype(int)
TABLE["count"] = RNG.poisson(2, N)
TABLE["separated"] = (TABLE["x"] > 0).astype(int)
TABLE["three"] = TABLE["g"]
REAL, LABELS, COUNTS = tunamh.Gaussian(1.0), tunamh.Logistic(), tunamh.Poisson()

REFUSED = [
    ("y ~ nosuch", REAL, "no column nosuch"),
    ("y ~ X", REAL, "no column X. Is x meant"),
    ("nosuch ~ x", REAL, "no column nosuch"),
    ("y ~ x + constant", REAL, "constant is 7 in every row"),
    ("y ~ one_level", REAL, "one_level is 'same' in every row"),
    ("y ~ C(constant)", REAL, "is '7' in every row"),
    ("y ~ scale(constant)", REAL, "7 in every row"),
    ("y ~ x + x2", REAL, "x, x2 are collinear"),
    ("y ~ x + z + sum", REAL, "are collinear"),
    ("y ~ g + C(g)", REAL, "are collinear"),
    ("y ~ day", REAL, "column day holds dates or times"),
    ("y ~ stamp", REAL, "column stamp holds dates or times"),
    ("y ~ log(x)", REAL, r"log\(x\) is not a finite number in row \d+, where x is -"),
    ("y ~ I(x / zero)", REAL, "not a finite number in row 0"),
    ("y ~ endless", REAL, "column endless has inf in row 17"),
    ("y ~ nothing", REAL, r"missing in nothing \(300 rows\)"),
    ("y ~ mixed", REAL, "column mixed holds"),
    ("y ~ complex", REAL, "column complex holds complex"),
    ("y ~ lists", REAL, "column lists holds"),
    ("y ~ log(text_numbers)", REAL, "column text_numbers holds text"),
    ("y ~ log(g)", REAL, "column g holds text"),
    ("y ~ x + (g > 'p')", REAL, "compared with a column, with == or !="),
    ("y ~ C(g, ref='w')", REAL, "no row has the level 'w'"),
    ("y ~ C(g, base='p')", REAL, "no argument base="),
    ("y ~ C(g, x)", REAL, "takes one expression"),
    ("y ~ (g == 'nobody')", REAL, "is 0 in every row"),
    ("g ~ x", LABELS, "3 levels"),
    ("g ~ x", REAL, "is for numbers"),
    ("y ~ x", LABELS, "the response y does not fit: labels must be 0 or 1, but row 0 has"),
    ("count / positive ~ x", LABELS, r"In a formula: count \| trials\(positive\) ~"),
    ("zero ~ x", LABELS, "zero is 0 in every row"),
    ("one_level ~ x", LABELS, "'same' in every row"),
    ("constant ~ x", tunamh.Gaussian(), "constant is 7 in every row"),
    ("y ~ x", COUNTS, "the response y does not fit: it must hold counts"),
    ("y ~ 0", REAL, "no coefficients"),
    ("y ~ (1 | x) + (1 | one_level)", REAL, "one_level has one level"),
    ("y ~ (0 | g)", REAL, "no columns"),
    ("y ~ center(scale(x))", REAL, "center cannot contain scale"),
    ("y ~ offset(g)", REAL, "column g holds text"),
    ("y + z | trials(x) ~ x", REAL, "trials= counts labels"),
    ("y | nosuch(x) ~ z", REAL, "not known"),
    ("x:z ~ 1", REAL, "the response must be one column"),
    ("y ~ y", REAL, "is also a term"),
    ("y ~ huge", REAL, "too large to compute with"),
    ("~ x", REAL, "nothing before its ~"),
]


@pytest.mark.filterwarnings("ignore:every row has its own level")
@pytest.mark.parametrize(("formula", "family", "said"), REFUSED, ids=[f"{f} {type(k).__name__}" for f, k, _ in REFUSED])
def test_refused_in_words(formula, family, said):
    with pytest.raises((FormulaError, TypeError, ValueError), match=said):
        tunamh.regression(formula, TABLE, family=family)


ALLOWED = [
    ("y ~ flag + `Größe (cm)` + 数", REAL, ["Intercept", "flag", "Größe (cm)", "数"]),
    (unicodedata.normalize("NFD", "y ~ `Größe (cm)`"), REAL, ["Intercept", "Größe (cm)"]),
    ("y ~ text_numbers", REAL, ["Intercept", "text_numbers[2.5]"]),
    ("y ~ x + x", REAL, ["Intercept", "x"]),
    ("y ~ constant + x + 0", REAL, ["constant", "x"]),
    ("late ~ C(count) + C(flag)", LABELS, None),
    ("count ~ x + offset(log(positive))", COUNTS, ["Intercept", "x"]),
    ("y ~ 1", REAL, ["Intercept"]),
    ("y ~ I(x**2) + I(-x) + I(2*z - 1)", REAL, ["Intercept", "I(x**2)", "I(-x)", "I(2 * z - 1)"]),
]


@pytest.mark.parametrize(("formula", "family", "names"), ALLOWED, ids=[formula for formula, *_ in ALLOWED])
def test_odd_but_right(formula, family, names):
    target = tunamh.regression(formula, TABLE, family=family)
    assert names is None or target.names == names


def test_collinear_columns_may_be_kept_under_proper_priors():
    target = tunamh.regression("y ~ x + x2", TABLE, family=REAL, redundant="keep")
    posterior = tunamh.sample(target, draws=400, rng=1, progressbar=False)
    theta = draws_of(posterior).mean(axis=(0, 1))
    assert abs(theta[1] + 2 * theta[2] - 1) < 0.3  # what the data tell
    flat = tunamh.regression("y ~ x + x2", TABLE, family=REAL, redundant="keep", prior=tunamh.Flat())
    with pytest.raises(ImproperPosterior, match="x2"):
        tunamh.sample(flat, draws=10, rng=1, progressbar=False)


def test_separable_data_have_a_posterior_under_the_default_prior_and_none_without():
    target = tunamh.regression("separated ~ x + z", TABLE, family=LABELS)
    posterior = tunamh.sample(target, draws=500, rng=1, progressbar=False)
    assert 3 < float(posterior.posterior["x"].mean()) < 20
    flat = tunamh.regression("separated ~ x + z", TABLE, family=LABELS, prior=tunamh.Flat())
    with pytest.raises(ImproperPosterior, match="x"):
        tunamh.sample(flat, draws=10, rng=1, progressbar=False)


def test_no_rows_one_row_and_no_columns():
    with pytest.raises(FormulaError, match="no rows"):
        tunamh.regression("y ~ x", TABLE.head(0), family=REAL)
    with pytest.raises(FormulaError, match=r"x is .* in every row"):
        tunamh.regression("y ~ x", TABLE.head(1), family=REAL)
    with pytest.raises(FormulaError, match="no column"):
        tunamh.regression("y ~ x", pd.DataFrame(index=range(3)), family=REAL)
    assert tunamh.regression("y ~ 1", TABLE.head(1), family=REAL).n_rows == 1


def test_duplicate_names_and_ragged_columns():
    twice = pd.concat([TABLE[["x", "y"]], TABLE[["x"]]], axis=1)
    with pytest.raises(FormulaError, match="more than one column of the name x"):
        tunamh.regression("y ~ x", twice, family=REAL)
    with pytest.raises(FormulaError, match="different lengths"):
        tunamh.regression("y ~ x", {"y": [1.0, 2.0], "x": [1.0]}, family=REAL)
    with pytest.raises(FormulaError, match="2 dimensions"):
        tunamh.regression("y ~ x", {"y": np.ones(3), "x": np.ones((3, 2))}, family=REAL)
    with pytest.raises(FormulaError, match="single value"):
        tunamh.regression("y ~ x", {"y": np.ones(3), "x": 3}, family=REAL)


def test_ten_thousand_levels():
    many = pd.DataFrame({"y": RNG.standard_normal(20_000), "zip": [f"z{k % 10_000}" for k in range(20_000)]})
    with pytest.raises(FormulaError, match=r"zip has 10,000 levels.*\(1 \| zip\)"):
        tunamh.regression("y ~ zip", many, family=REAL)
    target = tunamh.regression("y ~ 1 + (1 | zip)", many, family=REAL)
    assert target.groupings[0].groups == 10_000


@pytest.mark.parametrize("data", [None, 3, "data.csv", [1, 2], np.ones((3, 2)), object()])
def test_data_that_are_no_table(data):
    with pytest.raises(TypeError, match=r"table|column names"):
        tunamh.regression("y ~ x", data, family=REAL)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"family": 3}, "family must be a value"),
        ({"family": "gausian"}, "there is no family 'gausian'. Is gaussian meant"),
        ({"family": tunamh.Exponential(), "event": "z"}, "does not fit|event must be 1"),
        ({"family": tunamh.Gaussian}, "family must be a value"),
        ({"family": REAL, "missing": "ignore"}, "missing must be one of"),
        ({"family": REAL, "redundant": True}, "redundant must be one of"),
        ({"family": REAL, "weights": "nosuch"}, "no column nosuch"),
        ({"family": REAL, "weights": np.ones(3)}, "weights has 3 entries"),
        ({"family": REAL, "weights": "x"}, "weights must not be negative"),
        ({"family": REAL, "predictors": {"scale": 3}}, "dict of formulas"),
        ({"family": REAL, "predictors": {"nosuch": "~ x"}}, "nosuch"),
    ],
)
def test_choices_that_mean_nothing(settings, said):
    with pytest.raises((TypeError, ValueError), match=said):
        tunamh.regression("y ~ x", TABLE, **settings)


def test_formulas_of_thousands_of_terms():
    """As many coefficients as are promised may be written down; none of the walks through a formula calls itself."""
    names = [f"x{j}" for j in range(4_000)]
    formula = f"y ~ {' + '.join(names)} - x3999"
    parsed = parse(formula)
    assert str(parsed) == formula
    assert str(parse(str(parsed))) == formula
    terms = terms_of(parsed.right)
    assert [term_label(term) for term in terms.fixed] == names[:-1]
    assert columns_of(terms) == names[:-1]
    products = parse(f"~ ({' + '.join(names[:500])}) : g").right
    assert len(terms_of(products).fixed) == 500
    assert len(terms_of(parse(f"~ {':'.join(names[:900])}").right).fixed[0]) == 900


def test_a_regression_of_hundreds_of_written_terms():
    table = {f"x{j}": RNG.standard_normal(600) for j in range(450)} | {"y": RNG.standard_normal(600)}
    target = tunamh.regression(f"y ~ {' + '.join(list(table)[:-1])}", table, family=tunamh.Gaussian(1.0))
    assert target.dim == 451


def test_arithmetic_of_thousands_of_operations():
    table = {"x": np.arange(5.0), "y": np.zeros(5)}
    long = f"I({' + '.join(['x'] * 3_000)} - 2 * x)"
    model = tunamh.regression(f"y ~ {long}", table, family=tunamh.Gaussian(1.0))
    np.testing.assert_allclose(model.user_rows.design.block(slice(None)).dense()[:, 1], 2_998 * np.arange(5.0))


@pytest.mark.parametrize(
    "formula",
    ["~ (a + b) * c - d", "~ a - (b - c)", "~ (a | g) + b", "~ -1 + a", "~ a**2 / b", "~ I((a + b) * c**(-2))"],
)
def test_parentheses_stay_where_they_are_needed(formula):
    assert str(parse(formula)) == formula
