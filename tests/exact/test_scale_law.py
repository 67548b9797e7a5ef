"""Draws of a log scale by its table: the density that the acceptance ratio takes is the density of the draws."""

import warnings

import numba
import numpy as np
import pytest
from scipy import stats

import tunamh
from tunamh import GroupEffects, MixedModel, Normal
from tunamh.groups.kernel_common import FactorTurn
from tunamh.groups.layout import SCALE_TABLE, common_of, factor_of
from tunamh.groups.scale_table import propose_by_table

DRAWS = 40_000


def one_row_per_group():
    """Beside an unknown scale of the errors, of which effects may take all."""
    y = np.random.default_rng(11).standard_normal(14)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # every row has its own level
        return MixedModel(np.ones((14, 1)), y, tunamh.Gaussian(), GroupEffects(np.arange(14)), prior=Normal(scale=3.0))


def weak_model(groups=8):
    rng = np.random.default_rng(2)
    n = 400
    X = np.column_stack([np.ones(n), rng.standard_normal(n)])
    y = (rng.random(n) < 1 / (1 + np.exp(-X @ [0.3, 0.5]))).astype(float)
    return MixedModel(X, y, tunamh.Logistic(), GroupEffects(np.arange(n) % groups), prior=Normal(scale=3.0))


@numba.njit
def _draw(n, rng, state, gradient, model):
    hyper = model.data.hyper
    common, factor = common_of(hyper), factor_of(hyper, 0)
    out, there = np.empty((n, common.p + 2)), state.copy()
    for k in range(n):
        nothing = None, None, None, None, None, None, None, None, None
        turn = FactorTurn(factor, common, None, None, state, there, *nothing)
        out[k, common.p + 1] = propose_by_table(rng, turn, gradient)
        for j in range(common.p):
            out[k, j] = there[j] - common.centre[j]
        out[k, common.p] = there[factor.scales_at]
    return out


def table_of(model):
    return SCALE_TABLE.views(model.factors[0].scale_table, p=model.p)


def masses_of(table, gradient):
    """Masses of the cells, tilted by the slope in the log scale that the groups' ``eps`` add."""
    masses = np.exp(table.log_mass - (gradient[table.p] - table.slope) * table.phi)
    return masses / masses.sum()


def leans(table, k, gradient):
    """The slope in ``b`` of a cell."""
    return (gradient[: table.p] - table.slope_in_b) * table.unit[k]


def standardised(table, b, k, gradient):
    root = table.root[k]
    return root.T @ (b - table.mean[k] + np.linalg.solve(root @ root.T, leans(table, k, gradient)))


def densities(table, b, log_scale, gradient):
    """``log q``, from the numbers of the table: all coordinates normal, or one of them from a Cauchy law."""
    k = int((log_scale - table.low) // table.width)
    mass, y = masses_of(table, gradient)[k], standardised(table, b, k, gradient)
    normal = np.log(mass / table.width) + np.log(np.diag(table.root[k])).sum() + stats.norm.logpdf(y).sum()
    return np.array([normal, *(normal - stats.norm.logpdf(y) + stats.cauchy.logpdf(y))])


@pytest.fixture(scope="module", params=[weak_model, one_row_per_group])
def weak(request):
    model = request.param()
    compiled = model.model()
    assert table_of(model).cells > 1
    return model, compiled


def test_the_ratio_is_that_of_the_densities(weak):
    model, compiled = weak
    table, p, gradient = table_of(model), model.p, np.array([0.7, -0.4, 0.8])
    here = model.start(np.random.default_rng(3))
    found = _draw(200, np.random.default_rng(4), here, gradient, compiled)
    cauchy = 0.5 * (model.factors[0].long_tails > 0)
    before = densities(table, here[:p] - model.centre.at.common, here[p], gradient)
    ratios = np.array([before - densities(table, draw[:p], draw[p], gradient) for draw in found])
    near = np.isclose(found[:, p + 1, None], ratios, rtol=1e-9, atol=1e-9)
    assert near.any(axis=1).all()
    assert (np.abs(near.mean(axis=0) - np.array([1.0 - cauchy, *np.full(p, cauchy / p)])) < 0.12).all()


def test_draws_have_that_density(weak):
    """Cells by their masses, and in each cell normal numbers; with long tails, half of the draws have a Cauchy."""
    model, compiled = weak
    table, p, gradient = table_of(model), model.p, np.array([0.7, -0.4, 0.8])
    here = model.start(np.random.default_rng(3))
    found = _draw(DRAWS, np.random.default_rng(5), here, gradient, compiled)
    masses = masses_of(table, gradient)
    places = (found[:, p] - table.low) / table.width
    counts = np.bincount(places.astype(int), minlength=len(masses))
    often = masses * DRAWS > 20
    assert (
        stats.chisquare(
            np.append(counts[often], counts[~often].sum() + 1e-9),
            np.append(masses[often], masses[~often].sum() + 1e-9 / DRAWS) * (DRAWS + 1e-9),
            sum_check=False,
        ).pvalue
        > 1e-4
    )
    assert stats.kstest(places % 1.0, "uniform").pvalue > 1e-4
    first = zip(found[:4000], places.astype(int), strict=False)
    numbers = np.array([standardised(table, draw[:p], k, gradient) for draw, k in first])
    cauchy = 0.5 * (model.factors[0].long_tails > 0) / p

    def below(y):
        return (1 - cauchy) * stats.norm.cdf(y) + cauchy * stats.cauchy.cdf(y)

    assert stats.kstest(np.ravel(numbers), below).pvalue > 1e-4


def test_outside_of_the_table_nothing_moves(weak):
    model, compiled = weak
    here = model.start(np.random.default_rng(3))
    here[model.p] = table_of(model).low - 1.0
    found = _draw(5, np.random.default_rng(6), here, np.zeros(3), compiled)
    assert (found[:, model.p] == here[model.p]).all()
    assert (found[:, model.p + 1] == 0.0).all()


def test_there_is_no_table_where_the_scale_is_known_well():
    rng = np.random.default_rng(4)
    codes = np.repeat(np.arange(300), 20)
    eta = (0.8 * rng.standard_normal(300))[codes]
    y = (rng.random(codes.size) < 1 / (1 + np.exp(-eta))).astype(float)
    model = MixedModel(np.ones((codes.size, 1)), y, tunamh.Logistic(), codes, prior=Normal(scale=3.0))
    assert table_of(model).cells == 0


def test_of_gaussian_rows_effects_add_nothing_to_the_slope_of_a_cell():
    """Their energy is quadratic in all parameters: every ``eps`` leaves the slope at the centre as it is."""
    model = one_row_per_group()
    table, factor, centre = table_of(model), model.factors[0], model.centre
    of = centre.sums.factors[0]
    Q = factor.centre_precision[0, 0]
    middle = (of.curvature[:, 0, 0] * factor.mode[:, 0] - of.gradient[:, 0]) / (of.curvature[:, 0, 0] + Q)
    slope = centre.sums.gradient + factor.prior_gradient[: model.p] + of.cross[:, 0].T @ (middle - factor.mode[:, 0])
    assert np.abs(slope).max() > 0.5
    assert table.slope_in_b == pytest.approx(slope, rel=1e-6)
