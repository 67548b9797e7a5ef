"""Designs with curves: numbers of a row say the same as the columns of its curves."""

import numpy as np
import pytest

import tunamh
from tunamh import GLM, MH, Autoregressive, Normal, Taylor, TunaMH, check_bounds, sample
from tunamh._linear import Frame
from tunamh.formula.splines import raw_columns
from tunamh.targets.designs import DenseDesign
from tunamh.targets.designs.base import NamedDesign
from tunamh.targets.designs.curved import CurvedDesign, layout_of
from tunamh.targets.designs.curves import Curve
from tunamh.targets.designs.indexed import NOWHERE, IndexedBlock

RNG = np.random.default_rng(4)
N = 500
WHOLE = np.column_stack([np.ones(N), RNG.normal(size=N)])
LEVEL = RNG.integers(-1, 3, N)  # -1: the reference
GROUP, TIMES = RNG.integers(0, 2, N), RNG.normal(size=N)
PLAIN, CYCLIC = RNG.normal(size=(8, 4)), RNG.normal(size=(6, 3))
PLACES = np.r_[0.0, 5.0, -0.4, 5.3, RNG.uniform(0, 5, N - 4)]  # at the ends, and beyond them
PLAIN -= (raw_columns("splines", PLACES, 0.0, 5.0, 8) @ PLAIN).mean(axis=0)  # columns have the mean zero
AROUND = np.r_[0.0, 6.0, RNG.uniform(0, 6, N - 2)]
Y = (RNG.random(N) < 0.4).astype(float)
DIM = 2 + 4 + 3 + 3 + 6


def both():
    """Columns, a curve, a multiplied cyclic curve, three levels, and a cyclic curve for each of two levels."""
    curves = (
        Curve(12, CYCLIC, cyclic=True, levels=2),
        Curve(2, PLAIN),
        Curve(6, CYCLIC, cyclic=True, multiplied=True),
    )
    numbers = np.column_stack([AROUND, GROUP, PLACES, AROUND, TIMES])
    positions = np.where(LEVEL < 0, NOWHERE, 9 + LEVEL)[:, None]
    plain = raw_columns("splines", PLACES, 0.0, 5.0, 8) @ PLAIN
    around = raw_columns("cyclic", AROUND, 0.0, 6.0, 6) @ CYCLIC
    of_groups = [around * (k == GROUP)[:, None] for k in range(2)]
    dense = np.hstack([WHOLE, plain, around * TIMES[:, None], (LEVEL[:, None] == np.arange(3)) * 1.0, *of_groups])
    return CurvedDesign(WHOLE, positions, None, DIM, curves, numbers), dense


def target(X, **more):
    names = [str(j) for j in range(DIM)]
    X = X if isinstance(X, np.ndarray) else NamedDesign(X, names)
    return GLM(X, Y, tunamh.Logistic(), prior=Normal(scale=0.5), **more)


def test_blocks_do_what_dense_ones_do():
    design, dense = both()
    rng = np.random.default_rng(1)
    theta, weight, matrix = rng.normal(size=DIM), rng.random(N), rng.normal(size=(DIM, 3))
    frame, factor = Frame(rng.normal(size=(DIM, DIM)), np.eye(DIM)), rng.normal(size=(DIM, DIM))
    for rows in (slice(None), slice(5, 40), np.array([3, 3, 17])):
        block, whole, w = design.block(rows), DenseDesign(dense).block(rows), weight[rows]
        assert block.dense() == pytest.approx(whole.dense())
        assert block.matvec(theta) == pytest.approx(whole.matvec(theta))
        assert block.matvecs(matrix.T) == pytest.approx(whole.matvecs(matrix.T))
        assert block.matmat(matrix) == pytest.approx(whole.matmat(matrix))
        assert block.abs_matvec(theta) == pytest.approx(whole.abs_matvec(theta))
        assert block.rmatvec(w) == pytest.approx(whole.rmatvec(w))
        assert block.sandwich(w) == pytest.approx(whole.sandwich(w))
        assert block.sandwich(w, frame) == pytest.approx(whole.sandwich(w, frame))
        assert block.column_squares(w > 0.5) == pytest.approx(whole.column_squares(w > 0.5))
        assert block.row_norms() == pytest.approx(whole.row_norms())
        assert block.whitened_norms(factor) == pytest.approx(whole.whitened_norms(factor))
        assert block.row_max() == pytest.approx(whole.row_max())
        assert block.unfolded().dense() == pytest.approx(whole.dense())
        assert block.without_levels == pytest.approx(whole.dense()[:, :9])
    assert design.take(np.arange(30, 60)).block(slice(None)).dense() == pytest.approx(dense[30:60])


@pytest.mark.parametrize("which", ["other columns", "some of each curve", "levels apart", "no curve"])
def test_some_columns(which):
    design, dense = both()
    keep = np.ones(DIM, bool)
    keep[{"other columns": [0, 9], "some of each curve": [3, 6, 7, 13, 16]}.get(which, [13])] = False
    if which == "no curve":
        keep = np.isin(np.arange(DIM), [0, 1, 10])
    found = design.on_columns(keep)
    assert found.dim == keep.sum()
    assert found.block(slice(None)).dense() == pytest.approx(dense[:, keep])
    assert isinstance(found, CurvedDesign) == (which in ("other columns", "some of each curve"))
    assert (
        CurvedDesign(WHOLE, np.empty((N, 0)), None, 2, (), np.empty((N, 0))).on_columns(keep[:2]).dim == keep[:2].sum()
    )


@pytest.mark.parametrize("n", [1, 3, 200])
def test_the_compiled_side_agrees_row_by_row(n):
    """Few rows and many rows have their own sums; in each test one of the two is at work."""
    design, dense = both()
    a, b = target(design, weights=np.linspace(1, 2, N)), target(dense, weights=np.linspace(1, 2, N))
    rng = np.random.default_rng(2)
    theta, prop = 0.3 * rng.normal(size=(2, DIM))
    for one, other in ((a, b), (Taylor(order=2)(a), Taylor(order=2)(b))):
        found, models = np.empty((2, 4, 256)), [one.model(), other.model()]
        for index in (np.arange(n), np.arange(N - n, N)):
            for k, model in enumerate(models):
                model.energies(theta, index, n, model.data, found[k, 0])
                model.scales(theta, index, n, model.data, found[k, 1])
                model.differences(theta, prop, index, 0, n, model.data, found[k, 2], found[k, 3])
            energies, scales, rises, bounds = np.moveaxis(found[:, :, :n], 1, 0)
            assert energies[0] == pytest.approx(energies[1], rel=1e-7, abs=1e-9)
            assert rises[0] == pytest.approx(rises[1], rel=1e-7, abs=1e-9)
            assert bounds[0] == pytest.approx(bounds[1], rel=1e-7)
            assert (scales[0] > 0.7 * scales[1]).all()  # sizes by which rounding is measured
            assert (scales[0] < 10 * scales[1]).all()
    assert check_bounds(a, pairs=5, rng=1) <= 1.0


@pytest.mark.parametrize("test", [MH(), TunaMH(chi=0.1), None], ids=repr)
def test_draws_are_those_of_columns(test):
    """The same posterior by the same steps; sums are added up in another order, so the last digits may differ."""
    settings = {"draws": 60, "tune": 30, "chains": 1, "rng": 1, "progressbar": False}
    if test is not None:
        settings |= {"test": test, "proposal": Autoregressive(), "control": Taylor(order=2)}
    ours, theirs = (sample(target(X), **settings).posterior["theta"].values for X in both())
    assert ours == pytest.approx(theirs, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("family", ["gaussian", "negative-binomial", "ordinal", "categorical", "piecewise-exponential"])
def test_every_way_in_which_families_read_columns(family):
    """A residual beside the columns, several predictors, cutpoints, classes, and times that are split."""
    design, dense = both()
    rng = np.random.default_rng(3)
    y = {"gaussian": rng.normal(size=N), "piecewise-exponential": rng.exponential(size=N)}.get(
        family, rng.integers(0, 3, N)
    )
    if family == "ordinal":
        y = y + 1
    names = [str(j) for j in range(DIM)]
    keep = np.arange(DIM) > 0 if family == "ordinal" else np.ones(DIM, bool)
    designs = (design.on_columns(keep), DenseDesign(dense[:, keep]))
    made = [
        GLM(NamedDesign(one, [n for n, k in zip(names, keep, strict=True) if k]), y, family, prior=Normal(scale=0.5))
        for one in designs
    ]
    user = made[0].to_user(0.1 * rng.normal(size=made[0].dim))  # a residual's parameter has its own place in chains
    points = [one.to_chain(user) for one in made]
    first, second = (one.expansion(point) for one, point in zip(made, points, strict=True))
    assert first.energy == pytest.approx(second.energy)
    if family == "ordinal":  # whose coordinates depend on which columns are kept whole, and whose law must not
        assert made[0].log_joint(points[0]) == pytest.approx(made[1].log_joint(points[1]))
    else:
        assert np.sort(first.gradient) == pytest.approx(np.sort(second.gradient), abs=1e-7)
    found, index = np.empty((2, 64)), np.arange(50, 114)
    for k, one in enumerate(made):
        model = one.model()
        model.energies(points[k], index, 64, model.data, found[k])
    assert found[0] == pytest.approx(found[1], rel=1e-6, abs=1e-8)
    assert made[0].rows.nbytes < 0.8 * made[1].rows.nbytes or family == "piecewise-exponential"


def test_groups_and_known_scales_keep_curves():
    design, dense = both()
    y, codes = np.random.default_rng(3).normal(size=N), np.arange(N) % 7
    names = [str(j) for j in range(DIM)]
    for X in (design, dense):
        table = X if X is dense else NamedDesign(X, names)
        known = GLM(table, y, tunamh.Gaussian(scale=2.0), prior=Normal(scale=0.5))
        found = [known.expansion(np.full(DIM, 0.1)).energy]
        mixed = tunamh.MixedModel(table, Y, tunamh.Logistic(), [tunamh.GroupEffects(codes)], prior=Normal(scale=0.5))
        block, point = mixed.rows_of.observations, np.linspace(-1, 1, DIM + 8)
        found.append(np.concatenate(list(block.map(lambda rows, at=point: rows.X.matvec(at)))))
        if X is design:
            before = found
    assert before[0] == pytest.approx(found[0])
    assert before[1] == pytest.approx(found[1])


def test_a_layout_has_no_rows():
    for curves in ((), (Curve(2, PLAIN),)):
        for positions in (0, 2):
            found = layout_of(2, positions, True, 8, curves)
            assert (found.n_rows, found.numbers.curves, found.numbers.columns) == (0, curves, 2)
            assert isinstance(found.block(slice(None)), IndexedBlock) == bool(curves or positions)
