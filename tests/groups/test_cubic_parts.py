"""Energies of grouped rows without their cubic part: what is left is bounded, and what is taken out adds up."""

import numba
import numpy as np
import pytest
from numbers_of import changed

import tunamh
from tunamh import GroupEffects, MixedModel, Normal
from tunamh.acceptance.grouped import BOUND, CUBIC_PLACE, GroupDecisions, GroupMove, read_groups
from tunamh.chains.guard import new_work
from tunamh.compiled import NO_FAULT
from tunamh.groups.conditionals import fill_cubics, fill_given, new_given
from tunamh.groups.kernel_common import ALL_ROWS, rows_of
from tunamh.groups.layout import common_of, factor_of


def model_of(kind, *, slopes=False, seed=3):
    """One factor: random intercepts, or slopes alone, whose columns ``z`` differ from row to row."""
    rng = np.random.default_rng(seed)
    n, groups = 1500, 20
    X = np.column_stack([np.ones(n), rng.standard_t(4, size=n)])
    codes, z = rng.integers(groups, size=n), rng.uniform(-1.5, 1.5, n)
    eta = X @ [0.2, 0.4] + (0.8 * rng.standard_normal(groups))[codes] * (z if slopes else 1.0)
    family = tunamh.Logistic() if kind == "logistic" else tunamh.Poisson()
    y = rng.random(n) < 1 / (1 + np.exp(-eta)) if kind == "logistic" else rng.poisson(np.exp(np.minimum(eta, 4)))
    effects = GroupEffects(codes, X=z[:, None] if slopes else None)
    return MixedModel(X, y.astype(float), family, effects, prior=Normal(scale=3.0))


KINDS = [(kind, slopes) for kind in ("logistic", "poisson") for slopes in (False, True)]


@pytest.mark.parametrize(("kind", "slopes"), KINDS)
def test_every_row_keeps_to_its_bound(kind, slopes):
    model = model_of(kind, slopes=slopes)
    assert model.factors[0].cubic.all()
    assert 0.3 < tunamh.check_bounds(model, pairs=30, rng=1) <= 1


def test_a_bound_that_is_too_small_is_found():
    """Negative control: half of every row's constant."""

    def half(numbers):
        numbers.places[:, BOUND] *= 0.5
        numbers.bound_total[:] *= 0.5

    model = changed(model_of("logistic"), half)
    with pytest.raises(tunamh.BoundViolation):
        tunamh.check_bounds(model, pairs=60, rng=1)


@numba.njit
def _rise_of_all(rng, state, there, model, work):
    """What all rows and all closed cubic parts say together."""
    hyper = model.data.hyper
    common, factor = common_of(hyper), factor_of(hyper, 0)
    total, cells = 0.0, factor.n_cells
    kappa, cubics = np.zeros((1, factor.groups)), np.zeros(factor.groups)
    ends = (np.zeros(cells), np.zeros(cells))
    for k in range(2):
        at = state if k == 0 else there
        given = new_given(factor)
        fill_given(factor, kappa, at[: common.p] - common.centre, given)
        fill_cubics(factor, given, at, ends[k], cubics)
        total += cubics.sum() if k == 1 else -cubics.sum()
    table, log_ratio = rows_of(factor, ends[0], ends[1]), np.zeros(1)
    beyond, owner = np.full(cells, np.inf), np.zeros(cells, np.int64)
    move = GroupMove(state, there, table, beyond, ALL_ROWS, model, work)
    seen = read_groups(rng, move, GroupDecisions(log_ratio, owner))
    return total - log_ratio[0], seen.fault


@pytest.mark.parametrize(("kind", "slopes"), KINDS)
def test_rows_and_closed_parts_add_up_to_the_remainders(kind, slopes):
    """``sum R_i(there) - R_i(here)`` of the expansion to the second order, whatever is taken out of the rows."""
    model = model_of(kind, slopes=slopes)
    compiled, rng = model.model(), np.random.default_rng(5)
    assert model.factors[0].places.shape[1] == CUBIC_PLACE
    here, there = model.start(rng), model.start(rng)
    found, fault = _rise_of_all(rng, here, there, compiled, new_work())
    assert fault == NO_FAULT
    index = np.arange(model.n_rows)
    remainders = []
    for point in (here, there):
        out = np.empty(256)
        total = 0.0
        for start in range(0, model.n_rows, 256):
            block = np.ascontiguousarray(np.resize(index[start : start + 256], 256))
            n = min(256, model.n_rows - start)
            compiled.energies(point, block, n, compiled.data, out)
            total += out[:n].sum()
        remainders.append(total)
    assert found == pytest.approx(remainders[1] - remainders[0], rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("family", [tunamh.Logistic(), tunamh.Poisson()])
def test_constants_of_the_third_order_hold_and_are_near(family):
    """``6 |f'(eta + z) - f' - f'' z - f''' z^2 / 2| / |z|^3`` on a fine grid."""
    eta, radii = np.linspace(-4, 4, 41), (0.05, 0.4, 1.3, 3.0)
    y = np.zeros(len(eta))
    first, second, third = family.derivatives(eta, y)
    for radius in radii:
        constants = family.third_order_constants(y, eta, np.full(len(eta), radius))
        largest = np.zeros(len(eta))
        for z in np.concatenate([np.linspace(-radius, -0.02, 200), np.linspace(0.02, radius, 200)]):
            left = family.derivatives(eta + z, y)[0] - first - second * z - third * z * z / 2
            largest = np.maximum(largest, 6 * np.abs(left) / abs(z) ** 3)
        assert (largest <= constants * (1 + 1e-9)).all()
        assert (constants.sum() <= 3.0 * largest.sum()).all()


def test_groups_far_from_normal_keep_their_cubic_part():
    """Rows of one class: their effect ranges over many units, where a polynomial of higher order is a worse one."""
    rng = np.random.default_rng(1)
    codes = np.repeat(np.arange(12), 200)
    y = (rng.random(codes.size) < 0.4).astype(float)
    y[codes < 6] = 0.0
    x = rng.standard_normal((codes.size, 2))
    effects = GroupEffects(codes, scale=20.0)
    cubic = MixedModel(x, y, tunamh.Logistic(), effects, prior=Normal(scale=2.0)).factors[0].cubic
    assert not cubic[:6].any()
    assert cubic[6:].all()
