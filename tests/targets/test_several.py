"""Several linear predictors per row: blocks against dense arithmetic, compiled code against blocks, and softmax."""

import functools
import itertools
from dataclasses import dataclass

import numpy as np
import pytest
import scipy.sparse
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

import tunamh
from tunamh import GLM, MH, MHSS, BoundViolation, Logistic, Normal, Taylor, TunaMH, check_bounds, sample
from tunamh._linear import Frame
from tunamh.compiled import fixed
from tunamh.targets.designs import DenseDesign, IndexedDesign
from tunamh.targets.designs.multi_predictor import MultiPredictorBlock, MultiPredictorLayout, Term
from tunamh.targets.designs.with_offset import DesignWithOffset
from tunamh.targets.families.categorical import Categorical, Softmax
from tunamh.targets.families.intervals import SIGMOID_THIRD
from tunamh.targets.glm_rows import own_numbers
from tunamh.targets.layouts import OWN
from tunamh.targets.observations.row_layout import one_stretch_per_class
from tunamh.theory import FiniteProblem

RNG = np.random.default_rng(12)
N = 40

# ---------------------------------------------------------------------------------- blocks of columns, side by side


def designs():
    """A design of each kind, with the matrix and the offset that it stands for."""
    double, single = RNG.normal(size=(N, 3)), RNG.normal(size=(N, 3)).astype(np.float32)
    positions = np.column_stack([RNG.integers(1, 4, N), RNG.integers(4, 6, N), np.full(N, -1)])
    positions[::5, 1] = -1  # at a reference level
    values = RNG.normal(size=(N, 3))
    whole = RNG.normal(size=(N, 1))
    levels, valued = np.zeros((2, N, 6))
    for i, k in itertools.product(range(N), range(2)):
        if positions[i, k] >= 0:
            levels[i, positions[i, k]], valued[i, positions[i, k]] = 1.0, values[i, k]
    levels[:, :1] = valued[:, :1] = whole
    plain = {
        "double": (DenseDesign(double), double),
        "single": (DenseDesign(single), single.astype(float)),
        "codes": (IndexedDesign(whole, positions, None, 6), levels),
        "valued": (IndexedDesign(whole, positions, values, 6), valued),
    }
    offsets = {name: RNG.normal(size=N) for name in plain}
    shifted = {
        f"{name}+offset": (DesignWithOffset(design, offsets[name]), matrix, offsets[name])
        for name, (design, matrix) in plain.items()
    }
    none = {name: (design, matrix, np.zeros(N)) for name, (design, matrix) in plain.items()}
    return {**none, **shifted, "ones": (None, np.ones((N, 1)), np.zeros(N))}


DESIGNS = designs()
MIXTURES = [
    ("double",),
    ("double", "ones"),
    ("single", "codes"),
    ("double+offset", "single+offset", "ones"),
    ("codes+offset", "valued", "double"),
    ("valued+offset", "ones", "single"),
    ("ones",),
]


@dataclass
class Case:
    """A layout, its block of some rows, and the same as one dense array (K, n, dim) with offsets (K, n)."""

    layout: MultiPredictorLayout
    block: MultiPredictorBlock
    dense: np.ndarray
    offset: np.ndarray
    terms: list


def case(names, rows=slice(None)):
    """Every block in two predictors of three, with a stretch each; and the first again, on a stretch it shares."""
    held = [DESIGNS[name] for name in names]
    dims = [matrix.shape[1] for _, matrix, _ in held]
    terms, start = [], 0
    for which, dim in enumerate(dims):
        for predictor in (which % 3, (which + 1) % 3):
            terms.append(Term(predictor, which, start))
            start += dim
    terms.append(Term(2, 0, 0))
    blocks = [None if design is None else (design.numbers, design.dim) for design, _, _ in held]
    layout = MultiPredictorLayout(blocks, terms, 3)
    dense, offset = np.zeros((3, N, start)), np.zeros((3, N))
    for predictor, which, at in terms:
        dense[predictor, :, at : at + dims[which]] += held[which][1]
        offset[predictor] += held[which][2]
    cut = tuple(None if design is None else design.block(rows) for design, _, _ in held)
    n = len(np.arange(N)[rows])
    return Case(layout, MultiPredictorBlock(cut, layout, n), dense[:, rows], offset[:, rows], terms)


mixtures = pytest.mark.parametrize("names", MIXTURES, ids="-".join)


@mixtures
@pytest.mark.parametrize("rows", [slice(None), slice(7, 20)], ids=["all", "some"])
def test_blocks_do_what_dense_arrays_do(names, rows):
    of = case(names, rows)
    X, dim, n = of.dense, of.layout.dim, of.dense.shape[1]
    rng = np.random.default_rng(1)
    points, matrix, values = rng.normal(size=(4, dim)), rng.normal(size=(dim, 2)), rng.normal(size=(3, n))
    weight = rng.normal(size=(3, 3, n))
    weight = weight + weight.transpose(1, 0, 2)
    frame = Frame(rng.normal(size=(dim, dim)), np.eye(dim))
    assert dim == X.shape[2]
    assert of.block.dense() == pytest.approx(X)
    assert of.block.matvec(points[0]) == pytest.approx(X @ points[0] + of.offset)
    assert of.block.matvecs(points) == pytest.approx(np.stack([X @ point + of.offset for point in points]))
    assert of.block.matmat(matrix) == pytest.approx(X @ matrix)
    assert of.block.rmatvec(values) == pytest.approx(np.einsum("knj,kn->j", X, values))
    sandwich = np.einsum("anj,abn,bnk->jk", X, weight, X)
    assert of.block.sandwich(weight) == pytest.approx(sandwich)
    assert of.block.sandwich(weight, frame) == pytest.approx(frame.columns.T @ sandwich @ frame.columns)
    assert of.block.abs_matvec(points[0]) == pytest.approx(np.abs(X) @ np.abs(points[0]))
    assert of.block.row_norms() == pytest.approx(np.sqrt((X**2).sum(axis=2)))
    assert of.block.row_max() == pytest.approx(np.abs(X).max(axis=2))


SOME = np.arange(N) % 3 > 0
KEPT = [
    pytest.param(names, kept, id="-".join((label, *names)))
    for names in MIXTURES
    for label, kept in (("all", None), ("some", SOME))
]


@pytest.mark.parametrize(("names", "kept"), KEPT)
def test_sums_of_squares_are_over_the_rows_that_are_kept(names, kept):
    of = case(names)
    X = of.dense if kept is None else of.dense[:, kept]
    assert of.block.column_squares(kept) == pytest.approx((X**2).sum(axis=(0, 1)))


def numbers_of(layout):
    own = own_numbers(layout.numbers, temper=1.0, weighted=False, grain=1.0, table=layout.table)
    return fixed([*np.zeros(OWN), *own])


def packed(of):
    rows = np.full((of.block.n_rows, int(of.layout.numbers.width) + 2), np.nan)
    of.block.pack(rows)
    return rows


@mixtures
def test_the_compiled_side_has_the_predictors_of_the_blocks(names):
    of = case(names)
    rows, hyper, (dots, dot, _) = packed(of), numbers_of(of.layout), of.layout.parts
    rng, index = np.random.default_rng(2), np.random.default_rng(3).permutation(N)
    here, there = rng.normal(size=(2, of.layout.dim))
    eta, eta_prop = np.full((2, 3, 64), np.nan)
    dots(here, there, rows, index[5:], 30, hyper, eta.ravel(), eta_prop.ravel())
    assert eta[:, :30] == pytest.approx(of.block.matvec(here)[:, index[5:35]])
    assert eta_prop[:, :30] == pytest.approx(of.block.matvec(there)[:, index[5:35]])
    assert np.isnan(eta[:, 30:]).all()
    dot(there, rows, index, 30, hyper, eta.ravel())
    assert eta[:, :30] == pytest.approx(of.block.matvec(there)[:, index[:30]])


@mixtures
def test_sizes_are_what_predictors_would_be_if_nothing_cancelled(names):
    of = case(names)
    theta = np.random.default_rng(2).normal(size=of.layout.dim)
    offsets = sum(np.abs(DESIGNS[names[term.block]][2]) for term in of.terms)
    held = [(DESIGNS[names[term.block]][1], term.start) for term in of.terms]
    largest = sum(np.abs(matrix) @ np.abs(theta[at : at + matrix.shape[1]]) for matrix, at in held) + offsets
    squares = sum((matrix**2).sum(axis=1) for matrix, _ in held)
    for i in range(N):
        terms, length = of.layout.parts.sizes(theta, packed(of), i, numbers_of(of.layout))
        assert largest[i] <= terms * (1 + 1e-12)
        assert terms <= 3 * largest[i]
        assert length == pytest.approx(np.sqrt(squares[i]))


# ----------------------------------------------------------------------------------------------------------- softmax


def classes_of(n, d, K, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    eta = np.column_stack([np.zeros(n), X @ rng.normal(size=(d, K))])
    y = np.array([rng.choice(K + 1, p=p) for p in softmax(eta, axis=1)], float)
    y[: K + 1] = np.arange(K + 1)
    return X, y


def softmax_energies(theta, X, y, offset=0.0):
    """Row by row; ``theta`` is one stretch for every class but the first."""
    eta = X @ theta.reshape(-1, X.shape[1]).T + np.reshape(offset, (-1, 1))
    return -log_softmax(np.column_stack([np.zeros(len(y)), eta]), axis=1)[np.arange(len(y)), y.astype(int)]


def energies_of(family, eta, y):
    out = np.empty(len(y))
    family.energy(len(y), np.ascontiguousarray(eta).ravel(), y, fixed(family.hyper), out)
    return out


@pytest.mark.parametrize("K", [1, 2, 4])
def test_derivatives_by_differences(K):
    family, rng = Softmax(K), np.random.default_rng(4)
    n, h = 50, 1e-5
    eta, y = 2 * rng.normal(size=(K, n)), rng.integers(0, K + 1, n).astype(float)
    gradient, hessian, third = family.derivatives(eta, y)
    for k in range(K):
        up, down = eta.copy(), eta.copy()
        up[k] += h
        down[k] -= h
        slope = (energies_of(family, up, y) - energies_of(family, down, y)) / (2 * h)
        assert gradient[k] == pytest.approx(slope, abs=1e-9)
        above, below = family.derivatives(up, y), family.derivatives(down, y)
        assert hessian[:, k] == pytest.approx((above[0] - below[0]) / (2 * h), abs=1e-9)
        assert third[:, :, k] == pytest.approx((above[1] - below[1]) / (2 * h), abs=1e-9)


@pytest.mark.parametrize("length", [1e-12, 1e-6, 0.1, 0.99, 1.01, 5.0, 800.0])
def test_rises_keep_their_digits(length):
    K, n = 3, 200
    family, rng = Softmax(K), np.random.default_rng(5)
    eta, y = 3 * rng.normal(size=(K, n)), rng.integers(0, K + 1, n).astype(float)
    move = length * rng.uniform(-1, 1, size=(K, n))
    after = eta + move
    move = after - eta  # what is left of it
    rise = np.empty(n)
    family.rise(n, eta.ravel(), after.ravel(), y, fixed(family.hyper), rise)
    if length < 1e-3:
        gradient, hessian, _ = family.derivatives(eta, y)
        expected = (gradient * move).sum(axis=0) + 0.5 * np.einsum("an,abn,bn->n", move, hessian, move)
    else:
        expected = energies_of(family, after, y) - energies_of(family, eta, y)
    assert np.isfinite(rise).all()
    assert rise == pytest.approx(expected, rel=1e-9, abs=1e-12 * length)


@pytest.mark.parametrize("atoms", [2, 3, 4, 5])
def test_the_covariance_behind_the_bound(atoms):
    """``|Cov((z - mean)^2, w)| <= 1 / (6 sqrt 3)`` for z and w in [0, 1]: a search comes to it, not beyond."""

    def found(x):
        p, z, w = np.split(x, 3)
        p = softmax(p)
        z, w = 0.5 + 0.5 * np.sin(z), 0.5 + 0.5 * np.sin(w)
        square = (z - p @ z) ** 2
        return -abs(p @ (square * w) - (p @ square) * (p @ w))

    rng = np.random.default_rng(6)
    largest = max(-minimize(found, 2 * rng.normal(size=3 * atoms), method="BFGS").fun for _ in range(12))
    assert largest == pytest.approx(SIGMOID_THIRD, abs=1e-6)
    assert largest <= SIGMOID_THIRD + 1e-12


def brute_force(target, points):
    """The largest ``|D_i| / (c_i M)`` over all pairs of points, by the target's own compiled energies."""
    problem = FiniteProblem.of(target, points, np.full((len(points),) * 2, 1 / len(points)))
    rise = np.abs(problem.energies[:, :, None] - problem.energies[:, None, :])
    bound = problem.c[:, None, None] * problem.distance
    return float((rise[:, bound[0] > 0] / bound[:, bound[0] > 0]).max())


@pytest.mark.parametrize("K", [1, 2, 3])
@pytest.mark.parametrize("centre", [None, 3.0], ids=["mode", "far"])
@pytest.mark.parametrize("given", [{}, {"weights": np.linspace(0.5, 2, 6), "temper": 0.5}], ids=["plain", "weights"])
def test_bounds_hold_at_many_pairs(K, centre, given):
    X, y = classes_of(6, 1, K, seed=K)
    target = GLM(X, y, Categorical(), prior=Normal(scale=2.0), **given)
    expanded = Taylor(order=2, centre=None if centre is None else np.full(K, centre))(target)
    rng = np.random.default_rng(7)
    points = expanded.centre + 10 ** rng.uniform(-2, 1.5, (60, 1)) * rng.normal(size=(60, K))
    assert 0.1 < brute_force(expanded, points) <= 1 + 1e-9
    assert 0.01 < check_bounds(expanded, pairs=50, rng=1) <= 1
    white = expanded.whitened()
    assert 0.01 < check_bounds(white, pairs=50, rng=1) <= 1


@dataclass(frozen=True)
class CarelessSoftmax(Softmax):
    """A bound three times too small."""

    def cubic_bounds(self, y, eta, white, radius):
        return super().cubic_bounds(y, eta, white, radius) / 3


class Careless(Categorical):
    def arrange(self, observations, temper):
        row_layout = super().arrange(observations, temper)
        return row_layout._replace(family=CarelessSoftmax(row_layout.family.predictors))


def test_bounds_that_are_too_small_are_noticed():
    """Negative control: by the search, and by chains."""
    X, y = classes_of(6, 1, 2, seed=2)
    target = GLM(X, y, Careless(), prior=Normal(scale=2.0))
    assert target.own_bounds
    expanded = Taylor(order=2)(target)
    with pytest.raises(BoundViolation, match="row"):
        check_bounds(expanded, pairs=200, rng=1)
    with pytest.raises(BoundViolation, match="row"):
        sample(expanded, test=TunaMH(chi=0.1), proposal=tunamh.RandomWalk(2.0), draws=5000, rng=1)


def test_two_classes_are_a_logistic_regression():
    X, y = classes_of(500, 3, 1, seed=3)
    for given in ({}, {"weights": np.linspace(0.5, 2, 500), "offset": np.linspace(-1, 1, 500), "temper": 0.7}):
        two, logistic = (GLM(X, y, family, prior=Normal(scale=2.0), **given) for family in (Categorical(), Logistic()))
        assert two.modes[0].point == pytest.approx(logistic.modes[0].point, abs=1e-8)
        hessians = [target.modes[0].posterior.plain_hessian for target in (two, logistic)]
        assert hessians[0] == pytest.approx(hessians[1], rel=1e-6)
        a, b = (
            sample(t, draws=4000, rng=k).posterior["theta"].values.reshape(-1, 3) for k, t in enumerate((two, logistic))
        )
        assert a.mean(axis=0) == pytest.approx(b.mean(axis=0), abs=0.05 * b.std(axis=0).max())
        assert a.std(axis=0) == pytest.approx(b.std(axis=0), rel=0.05)


@functools.cache
def three_classes():
    """40 rows of one column, and the moments of the two coefficients by the midpoint rule."""
    X, y = classes_of(40, 1, 2, seed=5)
    axis = np.linspace(-6, 6, 401)
    grid = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)
    log_density = -0.5 * (grid**2).sum(axis=1) / 4
    for x, own in zip(X[:, 0], y.astype(int), strict=True):
        log_density += log_softmax(np.column_stack([np.zeros(len(grid)), grid * x]), axis=1)[:, own]
    mass = np.exp(log_density - log_density.max())
    mass /= mass.sum()
    edge = mass.reshape(401, 401)
    assert max(edge[[0, -1]].max(), edge[:, [0, -1]].max()) < 1e-6 * mass.max()
    mean = mass @ grid
    return X, y, mean, mass @ (grid - mean) ** 2


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "given",
    [
        {},
        {"test": MH(), "thin": 10},
        {"test": TunaMH(), "control": Taylor(order=2), "thin": 10},
        {"test": MHSS(), "control": Taylor(order=2), "thin": 10},
        {"test": tunamh.FactorizedMH(), "control": Taylor(order=2), "thin": 10},
    ],
    ids=["automatic", "MH", "TunaMH", "MHSS", "FactorizedMH"],
)
def test_three_classes_have_the_posterior_of_quadrature(given, seed):
    X, y, mean, variance = three_classes()
    target = GLM(X, y, Categorical(), prior=Normal(scale=2.0))
    draws = sample(target, draws=8000, chains=2, rng=seed, **given).posterior["theta"].values
    for values, truth in ((draws, mean), ((draws - mean) ** 2, variance)):
        batches = values.reshape(2 * 40, 200, 2).mean(axis=1)
        error = batches.std(axis=0, ddof=1) / np.sqrt(len(batches))
        assert error.max() < 0.1 * np.sqrt(variance).max()
        assert np.abs((batches.mean(axis=0) - truth) / error).max() < 4


@pytest.mark.parametrize("kind", ["double", "single", "sparse"])
@pytest.mark.parametrize("shifted", [False, True], ids=["plain", "offset"])
def test_every_design_has_the_energies_of_softmax(kind, shifted):
    X, y = classes_of(200, 3, 2, seed=6)
    X = X.astype(np.float32).astype(float)
    table = {"double": X, "single": X.astype(np.float32), "sparse": scipy.sparse.csr_array(X)}[kind]
    offset = np.linspace(-2, 2, 200) if shifted else None
    target = GLM(table, y, Categorical(), offset=offset, prior=Normal(scale=1.0))
    assert target.names == ["0[1]", "1[1]", "2[1]", "0[2]", "1[2]", "2[2]"]
    theta, out = np.random.default_rng(8).normal(size=6), np.empty(256)
    truth = softmax_energies(theta, X, y, 0.0 if offset is None else offset)
    model = target.model()
    model.energies(theta, np.arange(200), 200, model.data, out)
    assert out[:200] == pytest.approx(truth, rel=1e-10)
    assert target.expansion(theta).energy == pytest.approx(truth.sum(), rel=1e-10)
    expanded = Taylor(order=2, centre=theta)(target)
    there = theta + 0.1
    model = expanded.model()
    model.energies(there, np.arange(200), 200, model.data, out)
    at = expanded.at_centre
    polynomial = at.gradient @ (there - theta) + 0.5 * (there - theta) @ at.plain_hessian @ (there - theta)
    rise = softmax_energies(there, X, y, 0.0 if offset is None else offset).sum() - truth.sum()
    assert out[:200].sum() == pytest.approx(rise - polynomial, abs=1e-9)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([0, 0, 0, 0], "all rows of y have the same class"),
        ([0, 1, 1.5, 0], "row 2 has 1.5"),
        ([0, 1, 1e17, 0], "row 2 has 1e.17"),
        (np.arange(2000), "y has 2000 classes, more than the 1000 that are offered"),
    ],
)
def test_classes_that_are_no_use_are_refused(y, message):
    with pytest.raises(ValueError, match=message):
        GLM(np.ones((len(y), 1)), y, Categorical())


def test_collinear_columns_are_named_class_by_class():
    X, y = classes_of(200, 2, 2, seed=9)
    with pytest.raises(tunamh.ImproperPosterior, match=r"0\[1\], 2\[1\] are collinear.*0\[2\], 2\[2\] are collinear"):
        sample(GLM(np.column_stack([X, X[:, 0]]), y, Categorical()), rng=1)


def test_priors_may_leave_some_classes_flat():
    """Which columns depend on each other is then asked of the flat ones only."""
    X, y = classes_of(300, 2, 2, seed=9)
    by_name = dict.fromkeys(["0[1]", "1[1]"], Normal(scale=1.0)) | dict.fromkeys(["0[2]", "1[2]"], tunamh.Flat())
    prior = tunamh.priors.ByName(by_name)
    target = GLM(X, y, Categorical(), prior=prior)
    assert target.dependent_columns() == []
    assert sample(target, draws=50, rng=1).posterior["theta"].shape == (4, 50, 4)
    twice = GLM(np.column_stack([X[:, 0], X[:, 0]]), y, Categorical(), prior=prior)
    with pytest.raises(tunamh.ImproperPosterior, match=r"0\[2\], 1\[2\] are collinear") as refused:
        sample(twice, rng=1)
    assert "[1] are" not in str(refused.value).split("collinear")[0].replace("1[2]", "")


def test_separated_classes_are_refused_under_a_flat_prior():
    x = np.random.default_rng(10).normal(size=200)
    y = np.digitize(x, [-0.3, 0.5]).astype(float)
    with pytest.raises(tunamh.ImproperPosterior):
        sample(GLM(np.column_stack([np.ones(200), x]), y, Categorical()), draws=50, tune=50, rng=1)


def test_what_does_not_serve_says_so():
    X, y = classes_of(60, 1, 2, seed=11)
    target = GLM(X, y, Categorical(), prior=Normal(scale=1.0))
    for given, message in (
        ({"test": TunaMH()}, r"use MH\(\) or control=Taylor"),
        ({"test": MHSS(), "control": Taylor(order=1)}, r"only Taylor\(order=2\) works"),
        ({"test": tunamh.FlyMC()}, "lower bound"),
    ):
        with pytest.raises(tunamh.NotApplicable, match=message):
            sample(target, rng=1, **given)


def test_it_is_one_word_away():
    assert tunamh.Categorical is Categorical


def test_a_family_of_several_predictors_of_ones_own_arrangement():
    """`one_stretch_per_class` names classes as it is told."""
    X, y = classes_of(60, 2, 2, seed=11)
    observations = GLM(X, y, Logistic() if y.max() < 2 else tunamh.Gaussian(1.0)).observations
    row_layout = one_stretch_per_class(observations, Softmax(2), ["red", "green", "blue"])
    assert row_layout.names == ["0[green]", "1[green]", "0[blue]", "1[blue]"]
    assert row_layout.observations.take(np.array([3, 1])).rows().X.dense().shape == (2, 2, 4)
