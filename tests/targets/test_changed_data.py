"""A target reads the user's own arrays: a change after it was made is noticed, wherever it happened."""

import numpy as np
import pytest

import tunamh
from conftest import logistic_data
from tunamh import GLM, MH, FlyMC, LogisticRegression, RandomWalk, Taylor, TunaMH, sample

N = 9000  # three blocks of rows
QUICK = {"draws": 20, "tune": 20, "chains": 1, "rng": 1}


def arrays(dtype=np.float64):
    X, y = logistic_data(N, 3)
    return {"X": X.astype(dtype), "y": y, "weights": 1.0 + np.arange(N) % 3}


def swap(array):
    array[[5, 8]] = array[[8, 5]] if not np.array_equal(array[5], array[8]) else 7


CHANGES = {
    "one number": lambda array: array.__setitem__(4567, 7.0),
    "every number": lambda array: np.multiply(array, 2, out=array),
    "two rows": swap,
    "shuffled": lambda array: np.random.default_rng(1).shuffle(array),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("which", ["X", "y", "weights"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_changed_data_are_noticed_when_rows_are_packed(which, change, dtype):
    given = arrays(dtype)
    target = LogisticRegression(**given)
    CHANGES[change](given[which])
    with pytest.raises(ValueError, match=f"{which} was changed in rows .* after the target was made"):
        target.rows


@pytest.mark.parametrize("settings", [{}, {"test": MH()}, {"test": TunaMH()}, {"test": FlyMC()}], ids=str)
@pytest.mark.parametrize("which", ["X", "y", "weights"])
def test_changed_data_are_not_sampled(which, settings):
    given = arrays()
    target = LogisticRegression(**given)
    given[which][4567] = 7.0
    with pytest.raises(ValueError, match=f"{which} was changed"):
        sample(target, **settings, **QUICK)


def test_labels_changed_after_rows_were_packed_are_noticed_as_sampling_begins():
    given = arrays()
    target = LogisticRegression(**given)
    walk = {"test": MH(), "proposal": RandomWalk(0.01)}
    sample(target, **walk, **QUICK)
    given["y"][4567] = 7.0
    with pytest.raises(ValueError, match="y was changed after the target was made"):
        sample(target, **walk, **QUICK)


def test_unchanged_data_pass_in_every_form():
    given = arrays()
    for X in (
        given["X"],
        np.asfortranarray(given["X"]),
        given["X"][::-1],
        given["X"] > 0,
        given["X"].astype(np.float16),
    ):
        assert LogisticRegression(X, given["y"]).rows.shape[0] == N
    with np.errstate(over="ignore"):
        GLM(given["X"].astype(np.float32) * np.float32(1e30), given["y"], tunamh.Logistic()).rows


def test_the_fingerprint_is_that_of_the_data():
    given = arrays()
    first = LogisticRegression(**given)
    assert len(first.fingerprint) == 16
    assert int(first.fingerprint, 16) >= 0
    assert LogisticRegression(**arrays(), temper=0.5, prior=tunamh.Normal()).fingerprint == first.fingerprint
    assert Taylor(order=2)(first).fingerprint == first.fingerprint
    assert Taylor(order=2)(first).whitened().fingerprint == first.fingerprint
    for which in given:
        other = arrays()
        other[which][4567] = other[which][4567] == 0
        assert LogisticRegression(**other).fingerprint != first.fingerprint


def test_the_half_of_a_pair_that_no_feature_fills_is_zero(monkeypatch):
    """float32 features lie in pairs; of an odd number one half is left, and what it holds must not be chance."""
    from tunamh.targets import regression

    def soiled(n_rows, n_columns):
        rows = packed_rows(n_rows, n_columns)
        rows[:, :n_columns] = np.random.default_rng(1).standard_normal((n_rows, n_columns))
        return rows

    packed_rows = regression.packed_rows
    monkeypatch.setattr(regression, "packed_rows", soiled)
    target = LogisticRegression(**arrays(np.float32))
    assert not target.rows.view(np.float32)[:, 3].any()
    assert target.fingerprint == LogisticRegression(**arrays(np.float32)).fingerprint
