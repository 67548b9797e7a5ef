"""Coefficients that drift: where the next centre lies, and that it is exact there."""

import numpy as np
import pytest
from days import FORMULA, fresh, living, write_day

import tunamh
from tunamh.living import set_up
from tunamh.living.centre import Centre
from tunamh.living.drift import ahead, drifts, travel, wide_radii
from tunamh.targets.expansion.foreseen import LASTING, rows_about
from tunamh.targets.layouts import RUNGS, Trust


def centre_at(mean, rows):
    names = [f"x{j}" for j in range(len(mean))]
    return Centre.at(
        names, np.zeros(len(mean)), np.eye(len(mean)), np.ones(RUNGS), rows=rows, date="", mean=mean, frame=None
    )


def test_a_drift_goes_on_until_the_rows_have_doubled():
    """Of 1,000 rows that came, 3 standard deviations; 2,000 more are to come. What chance explains is taken off."""
    way = travel(centre_at(np.zeros(2), 1000), np.array([3.0, 0.0]), np.eye(2), 2000)
    np.testing.assert_allclose(way, [2 * (1 - 2 / 9) * 3.0, 0.0])


@pytest.mark.parametrize(("mean", "rows"), [([1.0, 0.9], 2000), ([3.0, 0.0], 1000), ([3.0, 0.0], 900)])
def test_without_a_drift_or_new_rows_there_is_no_way(mean, rows):
    assert not travel(centre_at(np.zeros(2), 1000), np.array(mean), np.eye(2), rows).any()


def test_a_centre_lies_as_far_ahead_as_the_kept_rows_allow():
    way, trust = np.array([40.0, 0.0, 0.0]), Trust()
    few, many = (ahead(way, 0.01, 10_000, kept, trust) for kept in (LASTING, 100 * LASTING))
    np.testing.assert_array_equal(many, 0.5 * way)
    assert 0 < few[0] < 20
    assert rows_about(few, 0.01, 10_000, trust) <= 0.75 < rows_about(few + np.eye(3)[0] * 2, 0.01, 10_000, trust)
    assert not ahead(way, 10.0, 10_000, LASTING, trust).any()
    narrow = Trust((4.0,) * RUNGS, (1.0,) * RUNGS + (np.inf,))
    assert ahead(way, 0.01, 10_000, LASTING, narrow)[0] < few[0]


def test_radii_are_wider_the_more_rows_there_are():
    radii = 4.0 * 2.0 ** np.arange(RUNGS)
    np.testing.assert_array_equal(wide_radii(radii, 4, 1000), radii)
    np.testing.assert_allclose(wide_radii(radii, 4, 40_000), 20.0 * 2.0 ** np.arange(RUNGS))
    assert np.isinf(wide_radii(np.full(RUNGS, np.inf), 4, 40_000)).all()


@pytest.fixture(scope="module")
def drifting(tmp_path_factory):
    """The night on which the centre was put ahead of a drift, and the centre of before."""
    folder = tmp_path_factory.mktemp("drifting")
    write_day(folder, 0)
    first = living(folder, folder / "cache")
    for day in range(1, 10):
        write_day(folder, day, drift=0.04)
        target = living(folder, folder / "cache")
        if "new centre" in target.kept.told:
            return folder, target, first
    raise AssertionError("the centre did not move")


def test_the_new_centre_lies_ahead_of_the_mean(drifting):
    _, target, first = drifting
    kept = target.kept.expanded
    inverse = kept.metric.inverse
    moved = inverse @ (kept.reference - first.kept.expanded.reference)
    before = inverse @ (kept.centre - kept.reference)
    assert moved @ before / np.linalg.norm(moved) / np.linalg.norm(before) > 0.8
    assert np.linalg.norm(before) > 1


def test_sums_and_bounds_ahead_of_the_mean_are_those_of_all_rows(drifting):
    folder, target, _ = drifting
    kept = target.kept.expanded
    exact = fresh(folder, FORMULA).expansion(kept.centre)
    np.testing.assert_allclose(kept.at_centre.gradient, exact.gradient, rtol=1e-9, atol=1e-8)
    assert tunamh.check_bounds(kept, pairs=10, rng=1) <= 1.0


def test_a_centre_ahead_lasts_longer(tmp_path, monkeypatch):
    """The control: without it files are mapped more often."""

    def moves(name):
        folder = tmp_path / name
        folder.mkdir()
        told = []
        for day in range(16):
            write_day(folder, day, drift=0.06, rows=500)
            told.append(living(folder, folder / "cache").kept.told)
        return sum("new centre" in one for one in told)

    monkeypatch.setattr(set_up, "_WHILE_DRIFTING", 1)
    with monkeypatch.context() as patch:
        patch.setattr(set_up, "travel", lambda centre, mean, inverse, rows: np.zeros(len(mean)))
        without = moves("without")
    assert moves("with") < without


def test_more_rows_are_kept_while_coefficients_drift(tmp_path):
    """Then steps may read more of them before the centre moves; without a drift it is the usual share."""
    mean = np.array([3.0, 0.0])
    assert drifts(centre_at(np.zeros(2), 1000), mean, np.eye(2), 2000)
    assert not drifts(centre_at(np.zeros(2), 1000), 0.6 * mean, np.eye(2), 2000)
    assert not drifts(centre_at(np.zeros(2), 1000), mean, np.eye(2), 1000)
    few, many = (set_up.entries_of(5000, 1_800_000, one) - set_up._ASIDE for one in (False, True))
    assert many == pytest.approx(3 * few, abs=3)
    assert set_up.entries_of(100_000, 36_000_000, True) == set_up.entries_of(100_000, 36_000_000)
    found = []
    for day in range(12):
        write_day(tmp_path, day, drift=0.06, rows=500)
        kept = living(tmp_path, tmp_path / "cache").kept
        pieces = kept.expanded.gathered.pieces
        rows = sum(piece.sums.n_rows for piece in pieces)
        usual, more = (set_up.entries_of(500, rows, one) for one in (False, True))
        found.append(("new centre" in kept.told, len(pieces[-1].rows) == more, len(pieces[-1].rows) == usual))
    assert found[0] == (False, False, True)
    assert any(moved and many for moved, many, _ in found)
    since = max(k for k, (moved, _, _) in enumerate(found) if moved)
    assert all(many == found[since][1] for _, many, _ in found[since:])  # nights later, too
