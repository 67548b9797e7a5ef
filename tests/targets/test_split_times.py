"""Rows of times split into pieces: their energies are minus the log likelihood of the times, equal pieces added up."""

import numpy as np
import pandas as pd
import pytest

import tunamh
from tunamh.errors import ImproperPosterior, NotApplicable
from tunamh.targets.families.piecewise_exponential import cuts_of, hazard_names

RNG = np.random.default_rng(4)
N = 2500
X = RNG.integers(0, 3, (N, 2)).astype(float)
ENTRY = np.where(RNG.random(N) < 0.4, RNG.uniform(0, 2, N), 0.0)
STOP = ENTRY + RNG.exponential(2.0, N)
STOP[:5] = ENTRY[:5] + 0.25  # some on the grid of cuts
ENTRY[5:9], STOP[5:9] = 0.5, 2.0
EVENT = (RNG.random(N) < 0.6).astype(float)
WEIGHTS = RNG.integers(0, 4, N) / 2.0
OFFSET = RNG.choice([0.0, 0.3], N)
STRATA = RNG.choice(["north", "south"], N)
CUTS = (0.5, 1.25, 2.0, 5.0)
FAMILY = tunamh.PiecewiseExponential(CUTS)


def minus_log_likelihood(theta, log_hazard, *, entry=ENTRY, weights=WEIGHTS, offset=OFFSET, strata=STRATA):
    """By integrals of the hazard, row by row."""
    low, high = np.array([0.0, *CUTS]), np.array([*CUTS, np.inf])
    total = 0.0
    for i in range(N):
        a = np.asarray(log_hazard)[(0 if strata[i] == "north" else 1) if strata is not None else 0]
        eta = X[i] @ theta + (offset[i] if offset is not None else 0.0)
        time = np.clip(np.minimum(STOP[i], high) - np.maximum(entry[i] if entry is not None else 0.0, low), 0.0, None)
        k = np.flatnonzero((low < STOP[i]) & (STOP[i] <= high))[0]
        w = 1.0 if weights is None else weights[i]
        total += w * (np.exp(eta) * (time @ np.exp(a)) - EVENT[i] * (eta + a[k]))
    return total


def energy(target, theta, log_hazard):
    return target.expansion(np.concatenate([theta, np.ravel(log_hazard)])).energy


def rises(target, **beside):
    """Energies are known up to a constant: their differences from one point to others, and what they should be."""
    rng = np.random.default_rng(0)
    strata = 2 if beside.get("strata", STRATA) is not None else 1
    points = [(rng.normal(size=2) / 2, rng.normal(size=(strata, 5)) / 2) for _ in range(3)]
    ours = np.array([energy(target, *point) for point in points])
    true = np.array([minus_log_likelihood(*point, **beside) for point in points])
    return np.diff(ours), np.diff(true)


def whole():
    return tunamh.GLM(
        X, STOP, FAMILY, event=EVENT, entry=ENTRY, weights=WEIGHTS, offset=OFFSET, strata=STRATA, prior=tunamh.Normal()
    )


def test_pieces_have_the_energy_of_their_rows():
    found, true = rises(whole())
    np.testing.assert_allclose(found, true, rtol=1e-10)
    plain = tunamh.GLM(X, STOP, FAMILY, event=EVENT, prior=tunamh.Normal())
    found, true = rises(plain, entry=None, weights=None, offset=None, strata=None)
    np.testing.assert_allclose(found, true, rtol=1e-10)
    assert plain.n_rows == sum((cut < STOP).sum() for cut in (0.0, *CUTS))


def test_equal_pieces_are_added_up():
    """9 combinations of columns, 2 offsets, 2 strata and 5 pieces make 180 rows of some thousands."""
    target = whole()
    merged = target.distinct()
    assert merged.n_rows <= 180
    found, true = rises(merged)
    np.testing.assert_allclose(found, true, rtol=1e-10)
    for theta in np.random.default_rng(1).normal(size=(2, 12)):
        ours, theirs = merged.expansion(theta), target.expansion(theta)
        np.testing.assert_allclose(ours.gradient, theirs.gradient, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(ours.hessian, theirs.hessian, rtol=1e-9, atol=1e-9)


def test_rows_with_columns_that_differ_are_not_added_up():
    assert tunamh.GLM(RNG.normal(size=(N, 2)), STOP, FAMILY, event=EVENT).distinct() is None


def test_sparse_columns_and_levels_are_kept_as_they_are():
    codes = RNG.integers(0, 3, N)
    table = pd.DataFrame({"x": X[:, 0], "g": pd.Categorical(np.array(["a", "b", "c"])[codes])})
    dense = np.column_stack([X[:, 0], codes == 1, codes == 2]).astype(float)
    point = np.random.default_rng(2).normal(size=8) / 2
    ours, theirs = (tunamh.GLM(one, STOP, FAMILY, event=EVENT, entry=ENTRY).expansion(point) for one in (table, dense))
    np.testing.assert_allclose(ours.gradient, theirs.gradient, rtol=1e-10, atol=1e-9)
    np.testing.assert_allclose(ours.energy, theirs.energy, rtol=1e-12)


def test_samples_and_chosen_columns_of_pieces():
    target = whole()
    index = np.array([3, 10, 11, 500])
    part, all_rows = target.observations.take(index).rows(), target.observations.rows()
    np.testing.assert_array_equal(part.X.dense(), all_rows.X.dense()[index])
    np.testing.assert_array_equal(part.weights, all_rows.weights[index])
    which = np.arange(12) % 3 != 1
    fewer = target.observations.on_columns(which).rows(slice(0, 50))
    np.testing.assert_array_equal(fewer.X.dense(), all_rows.X.dense()[:50, which])


def test_data_that_change_are_noticed():
    stop = STOP.copy()
    target = tunamh.GLM(X, stop, FAMILY, event=EVENT)
    stop[7] += 1.0
    with pytest.raises(ValueError, match="y was changed"):
        tunamh.sample(target, draws=10, progressbar=False)


# ------------------------------------------------------------------------------------------------------ the pieces


def test_pieces_have_about_as_many_events_each():
    times = np.random.default_rng(0).exponential(size=1000)
    cuts = np.array(cuts_of(times, np.ones(1000), 8))
    np.testing.assert_array_equal(np.bincount(np.searchsorted(cuts, times)), np.full(8, 125))
    twice = cuts_of(times, np.full(1000, 2.0), 8), cuts_of(np.repeat(times, 2), np.ones(2000), 8)
    assert twice == (tuple(cuts), tuple(cuts))


def test_tied_events_make_fewer_pieces_and_each_has_an_event():
    times = np.array([1.0, 1, 1, 1, 2, 2, 3])
    assert cuts_of(times, np.ones(7), 50) == (1.0, 2.0)
    assert cuts_of(np.ones(7), np.ones(7), 5) == ()


def test_names_have_as_few_digits_as_will_do():
    assert hazard_names(np.array([30.1234, 90.0]), (None,)) == ("0 to 30.1", "30.1 to 90", "90 on")
    assert hazard_names(np.array([1.00001, 1.00002]), ("a",))[1] == "a, 1.00001 to 1.00002"


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"event": np.zeros(N)}, "none of the 2,500 rows has an event"),
        ({"event": EVENT + 1}, r"row 0 has .*there are 1 in .* rows, 2 in .* rows.*event == 2"),
        ({"entry": STOP}, r"entry must be before the time in y, but row 0 has .*2,500 rows in all"),
        ({"entry": -np.ones(N)}, "entry must not be negative"),
        ({"strata": np.append(STRATA[:-1], None)}, "strata has a missing value in row 2499"),
        ({"strata": STRATA[:3]}, "strata has 3 entries, but there are 2500 rows"),
    ],
)
def test_what_cannot_be_is_refused(given, told):
    with pytest.raises(ValueError, match=told):
        tunamh.GLM(X, STOP, FAMILY, **given)


def test_times_are_positive():
    with pytest.raises(ValueError, match="must be positive, but row 1 has 0"):
        tunamh.GLM(X, np.where(np.arange(N) == 1, 0.0, STOP), FAMILY, event=EVENT)


def test_left_censored_times_are_refused_with_the_way_out():
    with pytest.raises(NotApplicable, match=r"left-censored times \(row 0\).*Cloglog"):
        tunamh.GLM(X, STOP, FAMILY, censored=-np.ones(N))


def test_families_that_take_no_delayed_entry_and_no_strata_say_so():
    with pytest.raises(TypeError, match=r"delayed entry.*is for Exponential and PiecewiseExponential, not for Weibull"):
        tunamh.GLM(X, STOP, tunamh.Weibull(), event=EVENT, entry=ENTRY)
    with pytest.raises(TypeError, match="strata= is for PiecewiseExponential"):
        tunamh.GLM(X, STOP, tunamh.Weibull(), event=EVENT, strata=STRATA)


def test_flat_hazards_of_pieces_without_events_are_refused():
    flat = tunamh.PiecewiseExponential((0.5, 1000.0, 2000.0), tunamh.Flat())
    with pytest.raises(ImproperPosterior, match=r"no event in 2 of 4 pieces \(1000 to 2000, 2000 on\)"):
        tunamh.GLM(X, STOP, flat, event=EVENT)
    tunamh.GLM(X, STOP, tunamh.PiecewiseExponential((0.5, 1000.0, 2000.0)), event=EVENT)


@pytest.mark.parametrize(
    "wrong", [{"pieces": 0}, {"pieces": (2.0, 1.0)}, {"pieces": (-1.0,)}, {"pieces": "ten"}, {"log_hazard": 3}]
)
def test_families_that_mean_nothing(wrong):
    with pytest.raises((ValueError, TypeError)):
        tunamh.PiecewiseExponential(**wrong)


def test_exponential_times_count_from_the_entry():
    """The hazard is constant: one piece without coefficients of time is the same posterior."""
    ones = np.column_stack([np.ones(N), X])
    target = tunamh.GLM(ones, STOP, tunamh.Exponential(), event=EVENT, entry=ENTRY)
    twin = tunamh.GLM(ones, STOP - ENTRY, tunamh.Exponential(), event=EVENT)
    for theta in np.random.default_rng(1).normal(size=(3, 3)):
        np.testing.assert_allclose(target.expansion(theta).energy, twin.expansion(theta).energy, rtol=1e-12)


def test_estimators_have_an_intercept_and_refuse_hazards():
    pytest.importorskip("sklearn")
    with pytest.raises(TypeError, match="responses have a mean"):
        tunamh.BayesianGLM(family=FAMILY).fit(X, STOP)
