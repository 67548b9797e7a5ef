"""Rows left out one at a time: against exact leave-one-out by quadrature, and the estimate from a subsample."""

import itertools
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import special, stats

import tunamh
from tunamh.errors import NotApplicable
from tunamh.marginal.evidence import Evidence
from tunamh.prediction.fitted import Fitted
from tunamh.prediction.left_out import left_out
from tunamh.prediction.reliability import good_k, two_digits
from tunamh.prediction.subsample import Block, RandomRows
from tunamh.prediction.verdict import Verdict
from tunamh.tables.columns import Numbers
from tunamh.tables.frames import Frame

pytestmark = pytest.mark.filterwarnings("ignore::tunamh.ConvergenceWarning")  # runs are short

RNG = np.random.default_rng(5)
N = 60
X = RNG.standard_normal(N)
ETA = 0.4 + 0.8 * X


def expit(eta):
    return special.expit(eta)


def negative_binomial(y, eta):
    return stats.nbinom.logpmf(y, 1.7, 1.7 / (1.7 + np.exp(eta)))


FAMILIES = {
    "logistic": (tunamh.Logistic(), RNG.binomial(1, expit(ETA)), lambda y, eta: stats.bernoulli.logpmf(y, expit(eta))),
    "poisson": (tunamh.Poisson(), RNG.poisson(np.exp(ETA)), lambda y, eta: stats.poisson.logpmf(y, np.exp(eta))),
    "counts": (
        tunamh.NegativeBinomial(1.7),
        RNG.negative_binomial(1.7, 1.7 / (1.7 + np.exp(ETA))),
        negative_binomial,
    ),
    "student": (
        tunamh.StudentT(4.0, 0.7),
        ETA + 0.7 * RNG.standard_t(4, N),
        lambda y, eta: stats.t.logpdf(y, 4.0, eta, 0.7),
    ),
    "gamma": (
        tunamh.Gamma(1.7),
        RNG.gamma(1.7, np.exp(ETA) / 1.7),
        lambda y, eta: stats.gamma.logpdf(y, 1.7, scale=np.exp(eta) / 1.7),
    ),
}


def exactly_left_out(y, log_density):
    """``log p(y_i | y_-i)``: for every row, the posterior of the others on a grid, prior N(0, 2.5^2)."""
    a, b = np.meshgrid(np.linspace(-2.5, 3.5, 241), np.linspace(-2, 4, 241), indexing="ij")
    prior = stats.norm.logpdf(a, 0, 2.5) + stats.norm.logpdf(b, 0, 2.5)
    rows = np.stack([log_density(one, a + b * x) for one, x in zip(y, X, strict=True)])
    whole = prior + rows.sum(axis=0)
    without = special.logsumexp((whole - rows).reshape(N, -1), axis=1)
    return special.logsumexp(whole) - without


@pytest.mark.parametrize("name", FAMILIES)
def test_rows_left_out_are_those_of_quadrature(name):
    family, y, log_density = FAMILIES[name]
    table = pd.DataFrame({"x": X, "y": y})
    target = tunamh.regression("y ~ x", table, family=family, prior=tunamh.Normal(scale=2.5))
    posterior = tunamh.sample(target, draws=4000, rng=1, progressbar=False)
    wanted = exactly_left_out(y, log_density)
    found = tunamh.loo(posterior, table, draws=16_000)
    np.testing.assert_allclose(found.pointwise, wanted, atol=0.03)
    np.testing.assert_allclose(found.elpd, wanted.sum(), atol=0.15)
    assert found.subsample_size is None
    assert found.subsampling_se == 0
    some = tunamh.loo(posterior, table, rows=N - 1, rng=1)  # its surrogate is kept
    cheap = some.elpd_loo_approx.values
    assert np.abs(cheap - wanted).max() < 0.5  # few rows: the posterior is not normal
    assert abs(cheap.sum() - wanted.sum()) < 1.0
    assert np.isnan(some.elpd_i.values).sum() == 1


# ------------------------------------------------------------------------------------------ the difference estimator

MANY = 3000
TABLE = pd.DataFrame({"x": RNG.standard_normal(MANY), "g": RNG.choice([f"g{k}" for k in range(150)], MANY)})
EFFECT = dict(zip([f"g{k}" for k in range(150)], 0.8 * RNG.standard_normal(150), strict=True))
TABLE["y"] = RNG.poisson(np.exp(0.3 + 0.5 * TABLE["x"] + TABLE["g"].map(EFFECT)))
TABLE["k"] = RNG.choice(["u", "v", "w"], MANY, p=[0.5, 0.3, 0.2])


@pytest.fixture(scope="module")
def grouped():
    return tunamh.sample(
        tunamh.regression("y ~ x + (1 | g)", TABLE, family=tunamh.Poisson()), draws=300, rng=1, progressbar=False
    )


@pytest.fixture(scope="module")
def plain():
    return tunamh.sample(tunamh.regression("y ~ x", TABLE, family=tunamh.Poisson()), rng=1, progressbar=False)


@pytest.fixture(scope="module")
def everything(grouped, plain):
    fits = {name: Fitted.open(one, None, by_chain=True) for name, one in (("grouped", grouped), ("plain", plain))}
    return left_out(fits, TABLE, MANY, np.random.default_rng(0))


def subsample(whole, which):
    """As if only these rows had been computed exactly."""
    return whole._replace(
        numbers=whole.numbers[which],
        places=whole.places[which],
        exact=whole.exact[:, which],
        surrogate=whole.surrogate[:, which],
        pareto_k=whole.pareto_k[:, which],
    )


@pytest.mark.parametrize("other", [None, 1])
def test_subsamples_are_unbiased_and_tell_their_error(everything, other):
    """Over 200 subsamples: of one model, and of the difference of two."""
    c, rng = everything.contrast(0, other), np.random.default_rng(3)
    truth = everything.estimate(c)
    parts = [subsample(everything, rng.choice(MANY, 300, replace=False)) for _ in range(200)]
    off = np.array([part.estimate(c) - truth for part in parts])
    z = off / np.array([part.sampling_error(c) for part in parts])
    assert abs(off.mean()) < 3.5 * off.std() / np.sqrt(200)
    assert 0.8 < z.std() < 1.25
    between = np.array([part.error_between_rows(c) for part in parts])
    np.testing.assert_allclose(np.sqrt(np.mean(between**2)), everything.error_between_rows(c), rtol=0.1)
    alone = MANY * np.array([(c @ part.exact).mean() for part in parts]) - truth  # negative control
    assert alone.std() > 3 * off.std()


def test_the_surrogate_is_near_without_groups(everything):
    plain = everything.exact[1] - everything.surrogate[1]
    assert plain.std() < 2e-3
    grouped = everything.exact[0] - everything.surrogate[0]
    assert grouped.std() < 0.1 * everything.exact[0].std()


def test_a_worse_surrogate_has_no_leverage(everything):
    """Without its correction, the surrogate of groups is biased by about the effective number of parameters."""
    effective = everything.estimate(everything.contrast_of_parameters(0))
    assert 100 < effective < 250
    assert abs((everything.exact[0] - everything.surrogate[0]).sum()) < 0.05 * effective
    within = everything.exact[2] - everything.surrogate[0]
    assert abs(within.sum() - effective) < 0.05 * effective


def test_classes_have_a_surrogate():
    target = tunamh.regression("k ~ x", TABLE, family=tunamh.Categorical())
    posterior = tunamh.sample(target, rng=1, draws=500, progressbar=False)
    found = tunamh.loo(posterior, TABLE, rows=300, rng=1)
    shares = TABLE["k"].value_counts(normalize=True)
    assert abs(found.elpd - MANY * float((shares * np.log(shares)).sum())) < 10
    assert found.subsampling_se < 0.1
    assert 2 < found.p < 6


def test_a_random_sample_does_not_depend_on_blocks():
    whole = Frame({"x": Numbers(np.arange(50.0))}, 50)
    taken = []
    for cuts in ([0, 50], [0, 3, 4, 31, 50]):
        rows = RandomRows(12, np.random.default_rng(7))
        for first, last in itertools.pairwise(cuts):
            rows.offer(Block(whole.take(slice(first, last)), np.arange(first, last)))
        frame, numbers, places = rows.taken()
        np.testing.assert_array_equal(frame.columns["x"].values, numbers)
        np.testing.assert_array_equal(places, numbers)
        taken.append(numbers)
    np.testing.assert_array_equal(*taken)
    counts = np.zeros(6)
    for seed in range(600):
        rows = RandomRows(2, np.random.default_rng(seed))
        for k in range(6):
            rows.offer(Block(whole.take(slice(k, k + 1)), np.array([k])))
        counts[rows.taken()[1]] += 1
    assert np.abs(counts - 200).max() < 4 * np.sqrt(600 * (1 / 3) * (2 / 3))


def test_rows_of_files_are_those_of_memory(plain, tmp_path):
    holes = TABLE.copy()
    holes.loc[17, "x"] = np.nan
    plain = plain.copy(deep=True)
    del plain["posterior"].attrs["settings"]  # of an older version, which does not say how many rows it had
    holes.iloc[:1100].to_parquet(tmp_path / "a.parquet")
    holes.iloc[1100:].to_parquet(tmp_path / "b.parquet")
    wanted = tunamh.loo(plain, holes, rows=200, rng=3)
    found = tunamh.loo(plain, tunamh.open_rows(str(tmp_path / "*.parquet")), rows=200, rng=3)
    assert found.n_rows == MANY - 1
    np.testing.assert_array_equal(found.numbers, wanted.numbers)
    np.testing.assert_allclose(found.elpd, wanted.elpd, rtol=1e-12)


def test_arviz_takes_the_estimates(grouped, plain):
    import arviz_stats

    of_each = {
        "grouped": tunamh.loo(grouped, TABLE, rows=400, rng=2),
        "plain": tunamh.loo(plain, TABLE, rows=400, rng=2),
    }
    assert isinstance(of_each["plain"], arviz_stats.utils.ELPDData)
    ours = tunamh.compare({"grouped": grouped, "plain": plain}, TABLE, rows=400, rng=2)
    apart = of_each["grouped"].elpd - of_each["plain"].elpd
    np.testing.assert_allclose(ours.loc["plain", "elpd_diff"], apart, rtol=1e-9)
    np.testing.assert_array_equal(of_each["grouped"].numbers, of_each["plain"].numbers)


def test_an_own_family_may_leave_constants_out(plain):
    found = tunamh.loo(plain, TABLE, rows=50, rng=1)
    assert "leaves constants out" not in str(found)
    assert "leaves constants out" in str(replace(found, own_family=True))
    assert [two_digits(value) for value in (113.7, 1234.5, 3.14159, 0.0123)] == ["114", "1,234", "3.1", "0.012"]


def test_rows_with_much_influence_are_named(plain):
    odd = pd.concat([TABLE[["x", "y"]].head(50), pd.DataFrame({"x": [9.0], "y": [3]})], ignore_index=True)
    target = tunamh.regression("y ~ x", odd, family=tunamh.Poisson(), prior=tunamh.Normal(scale=2.5))
    found = tunamh.loo(tunamh.sample(target, rng=1, progressbar=False), odd)
    assert found.large_k[0] == 50
    assert "row" in str(found)
    assert "50" in str(found)
    assert found.warning
    assert good_k(1000) == pytest.approx(2 / 3)


# ---------------------------------------------------------------------------------------------------- several models


def test_compare_says_which_model_predicts_better(grouped, plain):
    table = tunamh.compare({"plain": plain, "grouped": grouped}, TABLE, rows=400, rng=1)
    assert list(table.index) == ["grouped", "plain"]
    assert table["elpd_diff"].iloc[0] == 0
    assert table["se_diff"].iloc[1] > table["subsampling_se_diff"].iloc[1] > 0
    assert "grouped predicts better than plain" in str(table)
    assert "e+" not in str(table).splitlines()[-1]
    assert table["weight"].iloc[0] > 0.9
    whole = tunamh.compare({"plain": plain, "grouped": grouped}, TABLE, rows=MANY)
    off = (table["elpd_diff"] - whole["elpd_diff"]).iloc[1] / table["subsampling_se_diff"].iloc[1]
    assert abs(off) < 4
    assert whole["subsampling_se_diff"].iloc[1] == 0


def test_unreliable_rows_do_not_decide(everything):
    """Five rows make the worse model the better one: a verdict only if their values are reliable."""
    exact, k = everything.exact.copy(), np.zeros_like(everything.pareto_k)
    exact[1, :5] += 2000
    found = everything._replace(exact=exact, pareto_k=k)
    assert not Verdict.of(found, 1, 0, [1000, 1000]).undecided
    k[1, :5] = 0.9
    verdict = Verdict.of(found, 1, 0, [1000, 1000])
    assert verdict.decided_by_them
    assert verdict.share < 0.01
    said = verdict.words("plain", "grouped", {"elpd_diff": 9000.0, "se_diff": 10.0})
    assert said.startswith("elpd cannot decide between plain and grouped: the difference comes from rows with")
    assert not Verdict.of(everything._replace(pareto_k=k), 0, 1, [1000, 1000]).undecided


def test_equal_models_cannot_be_told_apart(plain):
    again = tunamh.sample(tunamh.regression("y ~ x", TABLE, family=tunamh.Poisson()), rng=9, progressbar=False)
    table = tunamh.compare({"a": plain, "b": again}, TABLE, rows=200, rng=1)
    assert table["elpd_diff"].iloc[1] < 1
    assert "predict about equally well" in str(table)


def test_models_of_other_responses_are_refused(plain):
    other = tunamh.sample(tunamh.regression("log1p(y) ~ x", TABLE), draws=50, tune=50, rng=1, progressbar=False)
    with pytest.raises(NotApplicable, match="different response"):
        tunamh.compare({"a": plain, "b": other}, TABLE)
    with pytest.raises(TypeError, match="two results or more"):
        tunamh.compare({"a": plain}, TABLE)


def short(formula, table, family, **how):
    target = tunamh.regression(formula, table, family=family, **how)
    return tunamh.sample(target, draws=50, tune=50, rng=1, progressbar=False)


def test_models_of_other_rows_are_refused(plain):
    with pytest.raises(NotApplicable, match=r"the model was fitted to 3,000 rows, and these data have 100 .* fit\.$"):
        tunamh.loo(plain, TABLE.head(100))
    half = short("y ~ x", TABLE.head(1500), tunamh.Poisson())
    with pytest.raises(NotApplicable, match=r"'half' was fitted to 1,500 rows.*compared on the same rows"):
        tunamh.compare({"plain": plain, "half": half}, TABLE)
    moved = short("y ~ x", TABLE.assign(y=TABLE["y"] + 1), tunamh.Poisson())
    with pytest.raises(NotApplicable, match="different responses: row 0 has"):
        tunamh.compare({"plain": plain, "moved": moved}, TABLE)


def test_evidence_of_other_rows_is_not_compared():
    one, other = (Evidence(-3.0, 0.1, 10, 2.0, (1.0, 1.0), rows) for rows in (100, 200))
    with pytest.raises(ValueError, match="one model has 100 rows and the other 200"):
        one.bayes_factor(other)
    assert one.bayes_factor(one)[0] == 1.0


def test_counts_and_densities_are_told_apart(plain):
    gaussian = short("y ~ x", TABLE, None)
    assert "a density: they compare only roughly" in str(tunamh.compare({"p": plain, "g": gaussian}, TABLE, rows=100))


def test_censored_times_are_not_compared_with_plain_ones():
    times = TABLE.head(200).assign(t=RNG.gamma(2, 1, 200), ev=RNG.integers(0, 2, 200))
    one, other = (short(f"{left} ~ x", times, tunamh.Exponential()) for left in ("t | cens(ev)", "t"))
    with pytest.raises(NotApplicable, match="different censoring, censored ev and none"):
        tunamh.compare({"a": one, "b": other}, times)


def test_times_that_are_split_count_as_the_rows_of_the_table():
    times = TABLE.head(200).assign(t=RNG.gamma(2, 1, 200), ev=RNG.integers(0, 2, 200))
    found = tunamh.loo(short("Surv(t, ev) ~ x", times, tunamh.PiecewiseExponential((1.0, 2.0))), times)
    assert found.n_rows == 200


def test_responses_of_another_fit_are_refused(rng):
    table = pd.DataFrame({"x": rng.standard_normal(60)})
    table["y"] = 1.0 + table["x"] + rng.standard_normal(60)
    fit = tunamh.sample(tunamh.regression("y ~ x", table), draws=100, chains=2, rng=1, progressbar=False)
    assert np.isfinite(tunamh.loo(fit, table).elpd)
    holes = pd.concat([table.iloc[:3].assign(x=np.nan), table], ignore_index=True)
    other = table.assign(y=2 * table["y"])
    with pytest.raises(NotApplicable, match=r"fitted to other values of y: row 0 has .* Pass the data of the fit"):
        tunamh.loo(fit, other)
    with pytest.raises(NotApplicable, match="other values of y"):
        tunamh.compare({"a": fit, "b": fit}, table.sample(frac=1.0, random_state=1))
    with pytest.raises(NotApplicable, match="other values of y"):
        tunamh.loo(fit, table.iloc[::-1], rows=20, rng=2)
    again = tunamh.sample(
        tunamh.regression("y ~ x", holes, missing="drop"), draws=100, chains=2, rng=1, progressbar=False
    )
    assert np.isfinite(tunamh.loo(again, holes).elpd)
