"""Cutpoints: where their default prior stands, the coordinates they are walked in, and their derivatives."""

import numpy as np
import pandas as pd
import pytest
from scipy import optimize, sparse, stats
from scipy.special import expit

import tunamh
from tunamh import GLM, GroupEffects, MixedModel, sample
from tunamh.targets.coordinates.shared import Cutpoints
from tunamh.targets.search.newton import find_mode

N = 400
_rng = np.random.default_rng(4)
X = _rng.standard_normal((N, 2))
Y = np.digitize(X @ [0.4, -0.2] + _rng.logistic(size=N), [-1.0, 0.5, 2.0])
G = _rng.integers(12, size=N)


def energy(point, X, y, origin):
    """Minus the log posterior as the docstring of `Ordinal` says it, cutpoints as a user knows them."""
    theta, cuts = point[: X.shape[1]], point[X.shape[1] :]
    if (np.diff(cuts) <= 0).any():
        return np.inf
    below = np.column_stack([np.zeros(len(y)), expit(cuts - (X @ theta)[:, None]), np.ones(len(y))])
    rows = np.log(np.diff(below, axis=1)[np.arange(len(y)), y]).sum()
    return -rows - stats.t(3, scale=2.5).logpdf(cuts - origin @ theta).sum()


def natural_energy(target, point):
    """The target's own, up to a constant."""
    return float(target.energies_at(target.to_chain(np.asarray(point))[None, :])[0])


@pytest.mark.parametrize("shift", [0.0, 30.0, 2000.0])
@pytest.mark.parametrize("kind", ["doubles", "singles", "offset"])
def test_the_posterior_is_the_one_that_is_told(shift, kind):
    moved = (X + shift).astype(np.float32 if kind == "singles" else np.float64)
    offset = np.linspace(-1, 1, N) if kind == "offset" else None
    target = GLM(moved, Y, tunamh.Ordinal(), offset=offset)
    exact = moved.astype(np.float64)
    columns = exact if offset is None else np.column_stack([exact, offset])
    beside = [] if offset is None else [1.0]
    origin = np.append(exact.mean(axis=0), np.zeros(len(beside)))
    cuts = np.array([-1.0, 0.5, 2.0])
    points = [(np.array([a, b]), cuts * c + shift * (a + b)) for a, b, c in ((0.4, -0.2, 1), (0.1, 0.3, 1.5))]
    told = [energy(np.concatenate([theta, beside, at]), columns, Y, origin) for theta, at in points]
    found = [natural_energy(target, np.concatenate(pair)) for pair in points]
    assert found[1] - found[0] == pytest.approx(told[1] - told[0], abs=1e-6)


def test_a_prior_that_is_given_is_that_of_the_cutpoints():
    target = GLM(X + 30, Y, tunamh.Ordinal(tunamh.Normal(scale=5)))
    points = np.array([[0.4, -0.2, 5.0, 6.5, 8.0], [0.3, -0.1, 5.0, 6.5, 8.5]])
    told = [
        energy(p, X + 30, Y, np.zeros(2)) + (stats.t(3, scale=2.5).logpdf(p[2:]) - stats.norm(0, 5).logpdf(p[2:])).sum()
        for p in points
    ]
    found = [natural_energy(target, p) for p in points]
    assert found[1] - found[0] == pytest.approx(told[1] - told[0], abs=1e-8)


def test_levels_have_their_reference_for_an_origin_however_they_are_given():
    level = (np.arange(N) % 3 == 0).astype(float)
    table = pd.DataFrame({"x": X[:, 0] + 30, "g": pd.Categorical(np.where(level > 0, "b", "a"))})
    by_hand = np.column_stack([X[:, 0] + 30, level])
    weights = np.linspace(0, 2, N)
    origins = [
        GLM(columns, Y, tunamh.Ordinal(), weights=weights).row_layout.form.origin
        for columns in (table, by_hand, np.column_stack([X[:, 0] + 30, level + 7]))
    ]
    mean = np.average(X[:, 0] + 30, weights=weights)
    np.testing.assert_allclose(origins, [[mean, 0.0], [mean, 0.0], [mean, 7.0]])


def test_sparse_columns_have_the_same_posterior():
    """They are not taken about their origin, but the cutpoints' prior is: energies, derivatives and questions agree."""
    columns = np.column_stack([X[:, 0] + 30, np.where(np.arange(N) % 4 == 0, 1 + X[:, 1], 0.0), np.arange(N) % 2])
    targets = [GLM(made, Y, tunamh.Ordinal()) for made in (columns, sparse.csr_array(columns))]
    np.testing.assert_allclose(targets[1].row_layout.form.lean, targets[0].row_layout.form.origin)
    points = np.array([[0.4, -0.2, 0.1, 11.0, 12.5, 14.0], [0.1, 0.2, 0.3, 2.0, 3.5, 6.0]])
    energies = [[natural_energy(target, p) for p in points] for target in targets]
    assert np.diff(energies[1]) == pytest.approx(np.diff(energies[0]), abs=1e-8)
    modes = [target.to_user(find_mode(target, tolerance=1e-10).point) for target in targets]
    np.testing.assert_allclose(modes[1], modes[0], atol=1e-4)
    at, step = targets[1].to_chain(points[0]), 1e-4
    prior = targets[1]._prior
    found = prior.expansion(at, np.full(6, 0.01))
    slope = optimize.approx_fprime(at, lambda p: -prior.log_prior(np.ascontiguousarray(p), prior.hyper), step)
    np.testing.assert_allclose(found.gradient, slope, rtol=1e-2, atol=1e-2)
    shares = np.column_stack([columns[:, 1], 1 - columns[:, 1]])  # which add up to a constant
    for made in (shares, sparse.csr_array(shares)):
        with pytest.raises(tunamh.ImproperPosterior):
            sample(GLM(made, Y, tunamh.Ordinal()), draws=10, progressbar=False)


def test_a_shift_of_the_columns_leaves_the_draws_of_slopes():
    """They were .0002 for .355 at a mean of 2000, and random walks at a mean of 30."""
    near, far = (
        sample(GLM(X + shift, Y, tunamh.Ordinal()), draws=500, rng=1, progressbar=False).posterior
        for shift in (0.0, 2000.0)
    )
    np.testing.assert_allclose(far["theta"], near["theta"], atol=1e-6)
    moved = far["cutpoint"] - 2000 * far["theta"].sum("parameter")
    np.testing.assert_allclose(moved.values, near["cutpoint"].values, atol=1e-5)


def test_a_shift_leaves_slopes_beside_groups_and_in_formulas():
    def slopes(shift):
        table = pd.DataFrame({"y": pd.Categorical(Y, ordered=True), "a": X[:, 0] + shift, "b": X[:, 1], "g": G})
        model = tunamh.regression("y ~ a + b + (1 | g)", table, family=tunamh.Ordinal())
        assert isinstance(model, MixedModel)
        return model.centre.at.common[:2]

    np.testing.assert_allclose(slopes(2000.0), slopes(0.0), atol=1e-6)
    both = [MixedModel(X + shift, Y, tunamh.Ordinal(), GroupEffects(G)) for shift in (0.0, 30.0)]
    near, far = (sample(model, draws=200, rng=1, progressbar=False).posterior["theta"] for model in both)
    np.testing.assert_allclose(far, near, atol=1e-6)


@pytest.mark.parametrize("shift", [0.0, 30.0])
def test_laplace_is_at_the_mode_and_finds_it_soon(shift):
    """The mode was .3 standard deviations off, after hundreds of passes."""
    target = GLM(X + shift, Y, tunamh.Ordinal())
    start = np.array([0.0, 0.0, -1.0, 0.5, 2.0])
    accurate = {"maxiter": 5000, "xatol": 1e-7, "fatol": 1e-9}
    best = optimize.minimize(energy, start, (X, Y, X.mean(axis=0)), "Nelder-Mead", options=accurate).x
    best[2:] += shift * best[:2].sum()
    law = tunamh.laplace(target)
    np.testing.assert_allclose((law.mode - best) / law.sd, 0.0, atol=0.01)
    calls = 0
    honest = target.expansion

    def counted(theta):
        nonlocal calls
        calls += 1
        return honest(theta)

    find_mode(target._with(expansion=counted))
    assert calls < 12


def test_derivatives_of_cutpoints_are_those_of_their_potential():
    form = Cutpoints(np.array([3.0, 0.5]), np.array([1.0]))
    at, step = np.array([0.7, -0.2, 0.1, 2.5]), 1e-5

    def potential(theta):
        gaps = np.diff(theta[1:])
        return -float(form.between @ np.log(-np.expm1(-gaps)))

    found = form.expansion(at)
    moves = step * np.eye(4)
    assert found.energy == pytest.approx(potential(at))
    np.testing.assert_allclose(found.gradient, optimize.approx_fprime(at, potential), atol=1e-5)
    slopes = np.array([form.expansion(at + e).gradient - form.expansion(at - e).gradient for e in moves]) / (2 * step)
    np.testing.assert_allclose(found.hessian, slopes, atol=1e-6)
    factor = np.random.default_rng(1).standard_normal((4, 4))
    bends = np.array([form.expansion(at + e).hessian - form.expansion(at - e).hessian for e in moves]) / (2 * step)
    whole = np.einsum("abc,aj,bk,ck->j", bends, factor, factor, factor)
    np.testing.assert_allclose(form.thirds(at, factor), whole, rtol=1e-5)
    assert form.expansion(np.array([0.7, 1.0, 0.1, 2.5])).energy == np.inf
