"""Control variates: same posterior, smaller bounds, exact from any centre."""

import itertools

import numba
import numpy as np
import pytest
from scipy import stats

import tunamh
from conftest import logistic_data
from tunamh import (
    MH,
    MHSS,
    Autoregressive,
    EnergyTarget,
    FactorizedMH,
    FiniteWalk,
    GaussianMixture,
    LogisticRegression,
    Normal,
    NotApplicable,
    RobustRegression,
    Taylor,
    TunaMH,
    check_bounds,
    sample,
)
from tunamh.chains.guard import check_move, parameters_at
from tunamh.targets.search.newton import find_mode
from tunamh.theory import FiniteProblem, detailed_balance_error, stationary_law, transition_matrix

X, Y = logistic_data(60, 2, seed=4)
Z = X @ [0.5, 0.2] + np.random.default_rng(5).standard_t(4, 60)
WEIGHTS = np.random.default_rng(6).integers(1, 4, 60)
XS = np.random.default_rng(7).normal(0.5, 1.5, 60)


@numba.njit
def log_cosh(theta, row):
    return np.log(np.cosh(row[0] - theta[0] - theta[1] * row[1]))


@numba.njit
def log_cosh_gradient(theta, row, out):
    slope = np.tanh(row[0] - theta[0] - theta[1] * row[1])
    out[0], out[1] = -slope, -slope * row[1]


@numba.njit
def log_cosh_hessian(theta, row, out):
    bend = 1 - np.tanh(row[0] - theta[0] - theta[1] * row[1]) ** 2
    out[0, 0], out[0, 1], out[1, 0], out[1, 1] = bend, bend * row[1], bend * row[1], bend * row[1] ** 2


SQUARES = 1 + X[:, 1] ** 2
OWN = EnergyTarget(
    log_cosh,
    X,
    np.sqrt(SQUARES),
    dim=2,
    gradient=log_cosh_gradient,
    hessian=log_cosh_hessian,
    c_gradient=SQUARES,
    c_hessian=4 / (3 * np.sqrt(3)) * SQUARES**1.5,
    temper=0.5,
)

CASES = {
    "logistic": (LogisticRegression(X, Y, prior=Normal(scale=2.0)), (1, 2)),
    "logistic, weighted": (LogisticRegression(X, Y, weights=WEIGHTS, temper=0.5), (1, 2)),
    "robust": (RobustRegression(X, Z, scale=1.0), (1, 2)),
    "mixture": (GaussianMixture(XS, temper=0.2), (1,)),
    "own energy": (OWN, (1, 2)),
}
CONTROLLED = [(name, order) for name, (_, orders) in CASES.items() for order in orders]


@pytest.mark.parametrize(("name", "order"), CONTROLLED)
def test_same_posterior_and_valid_bounds(name, order):
    target = CASES[name][0]
    rng = np.random.default_rng(1)
    points = [target.start(rng) for _ in range(6)]
    q = np.full((6, 6), 1 / 6)
    plain = FiniteProblem.of(target, points, q).posterior()
    for centre in (None, [0.3, -0.2]):
        controlled = Taylor(order=order, centre=centre)(target)
        assert FiniteProblem.of(controlled, points, q).posterior() == pytest.approx(plain, rel=1e-9)
        assert 0 < check_bounds(controlled, pairs=40, rng=1) <= 1 + 1e-9
    assert 0 < check_bounds(Taylor(order=order, whiten=False)(target), pairs=40, rng=1) <= 1 + 1e-9


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("name", ["logistic", "logistic, weighted", "robust"])
def test_original_bounds_hold_and_are_looser(name, order):
    target = CASES[name][0]
    original = Taylor(order=order, original_bounds=True)(target)
    assert check_bounds(original, pairs=40, rng=1) <= 1 + 1e-9

    def mean_move_bound(controlled):
        model, rng = controlled.model(), np.random.default_rng(2)
        pairs = controlled.centre + rng.standard_normal((50, 2, 2)) @ controlled.metric.factor.T
        return np.mean([controlled.total_bound * model.distance(a, b, model.data.hyper) for a, b in pairs])

    assert mean_move_bound(original) > 1.5 * mean_move_bound(Taylor(order=order)(target))


@pytest.mark.parametrize("order", [1, 2])
def test_bounds_are_sharp(order):
    """Some move and row nearly attain them: f'' (f''') at its supremum along the whole move."""
    x = np.array([[1.0]])
    point = 0.0 if order == 1 else -1.3169579  # where f'' or f''' of the logistic is largest
    target = Taylor(order=order, centre=[point])(LogisticRegression(x, [0]))
    model, rise, bound = target.model(), np.empty(1), np.empty(1)
    theta, prop = np.array([point]), np.array([point + 1e-2])
    model.differences(theta, prop, np.zeros(1, np.int64), 0, 1, model.data, rise, bound)
    assert abs(rise[0]) / (bound[0] * model.distance(theta, prop, model.data.hyper)) > 0.98


@pytest.mark.parametrize(("name", "order"), CONTROLLED)
@pytest.mark.parametrize(
    "test",
    [FactorizedMH(truncation=np.inf), MHSS(full_share=np.inf), TunaMH(chi=0.5, full_share=np.inf), MH()],
    ids=["SMH", "MHSS", "TunaMH", "MH"],
)
def test_detailed_balance_on_points_of_a_controlled_target(name, order, test):
    """SMH-1 and SMH-2 are the factorised test on targets of order 1 and 2; five rows, asymmetric proposal."""
    rng = np.random.default_rng(3)
    small = {
        "logistic": LogisticRegression(X[:5], Y[:5], prior=Normal(scale=1.0)),
        "logistic, weighted": LogisticRegression(X[:5], Y[:5], weights=WEIGHTS[:5], temper=0.5),
        "robust": RobustRegression(X[:5], Z[:5], scale=1.0),
        "mixture": GaussianMixture(XS[:5]),
        "own energy": OWN,
    }[name]
    if small is OWN:
        few = {"gradient": log_cosh_gradient, "hessian": log_cosh_hessian}
        few |= {"c_gradient": SQUARES[:5], "c_hessian": 4 / (3 * np.sqrt(3)) * SQUARES[:5] ** 1.5}
        small = EnergyTarget(log_cosh, X[:5], np.sqrt(SQUARES[:5]), dim=2, **few)
    controlled = Taylor(order=order, centre=[0.1, 0.2])(small)
    points = [np.array([0.1, 0.2]) + 0.25 * rng.standard_normal(2) for _ in range(4)]
    problem = FiniteProblem.of(controlled, points, rng.dirichlet(np.ones(4), size=4))
    transition = transition_matrix(problem, test)
    truth = FiniteProblem.of(small, points, problem.proposal).posterior()
    assert detailed_balance_error(transition, truth) < 1e-9
    assert stationary_law(transition) == pytest.approx(truth, abs=1e-8)


def test_the_two_spellings_say_the_same():
    target = CASES["logistic"][0]
    settings = {"test": MHSS(), "draws": 50, "tune": 20, "chains": 2, "rng": 3}
    one = sample(target, control=Taylor(order=2), **settings)
    two = sample(Taylor(order=2)(target), **settings)
    assert np.array_equal(one.posterior["theta"], two.posterior["theta"])


def test_batches_shrink_with_the_order():
    big = LogisticRegression(*logistic_data(20_000, 5))
    batches = [
        float(
            sample(big, test=MHSS(delayed=False), control=c, draws=300, tune=300, chains=2, rng=1)
            .sample_stats["batch_size"]
            .mean()
        )
        for c in (None, Taylor(order=1), Taylor(order=2))
    ]
    assert batches[0] > 3 * batches[1] > 10 * batches[2]


@pytest.mark.parametrize("name", CASES)
def test_expansion_is_a_derivative_and_the_mode_is_stationary(name):
    target = CASES[name][0]
    point, h = np.array([0.2, 0.4]), 1e-5
    at = target.expansion(point)
    sides = [(target.expansion(point + h * e), target.expansion(point - h * e)) for e in np.eye(2)]
    assert at.gradient == pytest.approx([(a.energy - b.energy) / (2 * h) for a, b in sides], abs=1e-6)
    assert at.hessian == pytest.approx(np.array([(a.gradient - b.gradient) / (2 * h) for a, b in sides]), abs=1e-6)
    mode = find_mode(target, tolerance=1e-12).point
    slope = target.expansion(mode).gradient + target._prior.precision * (mode - target._prior.mean)
    assert np.abs(slope).max() < 1e-4
    assert np.linalg.eigvalsh(target.expansion(mode).hessian + np.diag(target._prior.precision)).min() > 0


def test_columns_in_other_units_change_nothing():
    """Columns a hundred thousand times larger: the same mode, bounds and batches, in other units."""
    features, y = logistic_data(5000, 3)
    units = np.array([1.0, 1e5, 1e-4])
    plain, scaled = (Taylor(order=2)(LogisticRegression(features * u, y)) for u in (1.0, units))
    assert scaled.centre * units == pytest.approx(plain.centre, rel=1e-6)
    assert scaled.total_bound == pytest.approx(plain.total_bound, rel=1e-6)
    starts = np.array([scaled.start(np.random.default_rng(k)) * units for k in range(300)])
    expected = 2 * np.sqrt(np.diag(np.linalg.inv(plain.hessian)))
    assert starts.std(axis=0) == pytest.approx(expected, rel=0.2)


def test_a_mode_outside_the_box_is_moved_to_its_edge():
    far = GaussianMixture(np.random.default_rng(1).normal(6, 1.4, 200))
    controlled = Taylor(order=1)(far)
    assert np.abs(controlled.centre).max() <= 3
    sample(far, test=tunamh.FlyMC(tuned=True), draws=20, tune=10, rng=1)


def test_an_energy_without_value_at_zero():
    @numba.njit
    def energy(theta, row):
        return -np.log(abs(theta[0])) + 0.5 * (theta[0] - row[0]) ** 2

    @numba.njit
    def gradient(theta, row, out):
        out[0] = -1 / theta[0] + theta[0] - row[0]

    target = EnergyTarget(energy, np.full(20, 3.0), 10.0, dim=1, gradient=gradient, c_gradient=100.0)
    assert abs(target.expansion(find_mode(target, tolerance=1e-12).point).gradient[0]) < 1e-4


def test_a_family_without_bounded_slope_serves_mh_and_taylor():
    """Squared error: no bound on the slope, curvature 1, nothing beyond."""
    from dataclasses import dataclass

    from tunamh.extend import FamilyEnergy, FamilyRise, Suprema, part

    @part(FamilyEnergy)
    def squares_energy(n, eta, y, hyper, out):
        for b in range(n):
            out[b] = 0.5 * (y[b] - eta[b]) ** 2

    @part(FamilyRise)
    def squares_rise(n, eta, eta_prop, y, hyper, out):
        for b in range(n):
            out[b] = 0.5 * (eta_prop[b] - eta[b]) * (eta_prop[b] + eta[b] - 2.0 * y[b])

    @dataclass(frozen=True)
    class Squares:
        energy, rise, hyper = squares_energy, squares_rise, ()

        def check(self, y):
            pass

        def derivatives(self, eta, y):
            return eta - y, np.ones_like(eta), np.zeros_like(eta)

        def suprema(self, y):
            return Suprema(np.full(y.shape, np.inf), np.ones(y.shape), np.zeros(y.shape))

    target = tunamh.GLM(X, Z, Squares())
    with pytest.raises(NotApplicable, match="row 0 has none"):
        sample(target, test=TunaMH())
    with pytest.raises(NotApplicable, match="lower bound"):
        sample(target, test=tunamh.FlyMC())
    sample(target, test=MH(), draws=20, tune=20, rng=1)
    sample(target, test=MHSS(), control=Taylor(order=1), draws=20, tune=20, rng=1)
    independent = Autoregressive(rho=0.0, robust_share=0.0)
    exact = sample(target, test=MHSS(), control=Taylor(order=2), proposal=independent, draws=2000, tune=0, rng=1)
    assert exact.sample_stats["accepted"].all()  # the posterior is Gaussian: independent draws, no row read
    assert (exact.sample_stats["batch_size"] == 0).all()
    theta = exact.posterior["theta"].values.reshape(-1, 2)
    assert np.abs(np.cov(theta.T) @ (X.T @ X) - np.eye(2)).max() < 0.15


def test_no_mode_is_no_obstacle():
    """Separable data under a flat prior: the search ends somewhere, and any centre is exact."""
    x = np.array([[1.0], [2.0], [-1.0]])
    controlled = Taylor(order=1)(LogisticRegression(x, [1, 1, 0]))
    assert np.isfinite(controlled.centre).all()
    assert check_bounds(controlled, rng=1) <= 1 + 1e-9


def test_collinear_columns_are_no_obstacle():
    table = np.column_stack([X, X[:, 0]])
    controlled = Taylor(order=2)(LogisticRegression(table, Y))
    assert check_bounds(controlled, rng=1) <= 1 + 1e-9


def test_who_may_not():
    with pytest.raises(NotApplicable, match="FiniteWalk"):
        Taylor(order=1)(FiniteWalk([1.0], 3))
    with pytest.raises(NotApplicable, match="order=1"):
        Taylor(order=2)(GaussianMixture(XS))
    with pytest.raises(NotApplicable, match="gradient"):
        Taylor(order=1)(EnergyTarget(log_cosh, X, 3.0, dim=2))
    with pytest.raises(NotApplicable, match="c_hessian"):
        Taylor(order=2)(EnergyTarget(log_cosh, X, 3.0, dim=2, gradient=log_cosh_gradient, c_gradient=SQUARES))
    with pytest.raises(ValueError, match="order"):
        Taylor(order=3)
    with pytest.raises(ValueError, match="centre"):
        Taylor(order=1, centre=[0.0])(CASES["logistic"][0])
    with pytest.raises(ValueError, match="box"):
        Taylor(order=1, centre=[5.0, 0.0])(GaussianMixture(XS))


def test_effective_rows_of_a_well_specified_model():
    """Spec 5e: N_eff is about N without control variates (measured 0.97 N for a logistic regression)."""
    target = LogisticRegression(*logistic_data(10_000, 5))
    mode = find_mode(target).point
    features, y = logistic_data(10_000, 5)
    gradients = features * target.family.derivatives(features @ mode, y)[0][:, None]
    n_eff = tunamh.theory.effective_rows(gradients, target.c, target.expansion(mode).hessian)
    assert 0.8 < n_eff / 10_000 < 1.3


@pytest.mark.parametrize("rho", [0.0, 0.6, -0.4])
@pytest.mark.parametrize("centre", [None, [0.3, -0.2]])
@pytest.mark.parametrize("skewed", [False, True])
def test_autoregressive_is_reversible_for_the_laplace_law(rho, centre, skewed):
    """Its ratio is that of the two Gaussian densities; about the mode it cancels Taylor part and prior (spec 5b)."""
    plain = Taylor(order=2, centre=centre)(CASES["logistic"][0])
    plain = plain.with_skew(plain.skew * skewed)
    proposal = Autoregressive(rho=rho, robust_share=0.0)
    target = proposal.prepare(plain)
    bound, model = proposal.bind(target), target.model()
    precision = plain.hessian + np.diag(plain._prior.precision)
    mean = plain.centre - np.linalg.solve(precision, plain.gradient + plain._prior.precision * plain.centre)
    if skewed:
        mean = plain.reference
    else:
        assert plain.reference == pytest.approx(mean)
    rng, there = np.random.default_rng(1), np.empty(2)
    for _ in range(20):
        here = rng.standard_normal(2)
        ratio = bound.propose(rng, here, there, bound.knobs)
        a, b = (parameters_at(state, model) - mean for state in (here, there))
        assert ratio == pytest.approx(0.5 * (b @ precision @ b - a @ precision @ a))
        if not skewed:
            assert ratio + model.offset(here, there, model.data.hyper) == pytest.approx(0.0, abs=1e-12)
    here = target.state_at(np.array([2.0, -1.0]))
    moves = np.empty((20_000, 2))
    for move in moves:
        bound.propose(rng, here, there, bound.knobs)
        move[:] = parameters_at(there, model)
    covariance = (1 - rho**2) * np.linalg.inv(precision)
    spread = np.sqrt(np.diag(covariance) / len(moves))
    assert (np.abs(moves.mean(axis=0) - mean - rho * (np.array([2.0, -1.0]) - mean)) < 4.5 * spread).all()
    error = np.sqrt(2 * np.outer(np.diag(covariance), np.diag(covariance)) / len(moves))
    assert (np.abs(np.cov(moves.T) - covariance) < 4.5 * error).all()


def test_set_up_adds_up_one_hessian_over_all_rows(monkeypatch):
    """Samples and gradient passes bring the search so near that the first full expansion is the last."""
    target = LogisticRegression(*logistic_data(100_000, 3))
    rows, expansion = [], LogisticRegression.expansion
    monkeypatch.setattr(
        LogisticRegression, "expansion", lambda t, theta: (rows.append(t.n_rows), expansion(t, theta))[1]
    )
    mode = find_mode(target)
    assert mode.found
    assert rows.count(100_000) == 1
    assert mode.away < np.sqrt(0.01 * 3)
    assert Taylor(order=2)(target).non_gaussianity < 0.02


WHITE = [(name, order) for name, order in CONTROLLED if name != "mixture"]


@pytest.mark.parametrize(("name", "order"), WHITE)
@pytest.mark.parametrize("centre", [None, [0.3, -0.2]], ids=["mode", "off"])
def test_whitened_targets_are_the_same_targets(name, order, centre):
    """Same posterior, same energies, same distances; only the coordinates of the chain differ."""
    plain = Taylor(order=order, centre=centre)(CASES[name][0])
    white = plain.whitened()
    rng = np.random.default_rng(1)
    points, q = [plain.start(rng) for _ in range(6)], np.full((6, 6), 1 / 6)
    before, after = FiniteProblem.of(plain, points, q), FiniteProblem.of(white, points, q)
    assert after.distance == pytest.approx(before.distance, rel=1e-9, abs=1e-12)
    assert after.energies == pytest.approx(before.energies, abs=1e-12)
    assert after.posterior() == pytest.approx(before.posterior(), rel=1e-9)
    for point in points:
        assert parameters_at(white.state_at(point), white.model()) == pytest.approx(point)


@pytest.mark.parametrize("name", ["logistic", "logistic, weighted", "robust"])
@pytest.mark.parametrize("order", [1, 2])
def test_bounds_hold_on_every_rung_of_the_ladder(name, order):
    """Five thousand rows, so that local suprema are far below global ones; pairs at chosen radii from the centre."""
    features, y = logistic_data(5000, 2)
    target = {
        "logistic": LogisticRegression(features, y),
        "logistic, weighted": LogisticRegression(features, y, weights=1.0 + y, temper=0.5),
        "robust": RobustRegression(
            features, features @ [0.5, 0.2] + np.random.default_rng(5).standard_t(4, 5000), scale=1.0
        ),
    }[name]
    white = Taylor(order=order)(target).whitened()
    model, rng, radius = white.model(), np.random.default_rng(6), np.sqrt(white.trust.radii_squared[0])
    factors = white.trust.factors
    assert factors[0] == 1
    assert all(a <= b for a, b in itertools.pairwise(factors))
    assert factors[-1] > 2
    centre = white.state_at(white.centre)
    ratios = []
    edges = [(0.999, 1.001), (1.99, 2.01), (3.9, 4.1), (7.9, 8.1)]
    for inner, outer in ((0.01, 0.5), (0.5, 0.999), *edges, (0.5, 1.5), (2.0, 30.0), (30.0, 300.0)):
        for _ in range(10):
            directions = rng.standard_normal((2, 2))
            directions *= radius * np.array([[inner], [outer]]) / np.linalg.norm(directions, axis=1, keepdims=True)
            ratios.append(check_move(centre + directions[0], centre + directions[1], model))
    assert max(ratios) > 0.3
    there = centre + np.array([0.0, 0.5 * radius])
    for rung in range(4):
        edge = np.sqrt(white.trust.radii_squared[rung])
        steps = [centre + np.array([share * edge, 0.0]) for share in (0.998, 1.002)]
        jump = [model.distance(here, there, model.data.hyper) for here in steps]
        assert jump[1] > 0.98 * jump[0] * factors[rung + 1] / factors[rung]


def test_whitened_coordinates_of_an_indefinite_expansion():
    """Far from the mode a Student-t posterior bends the wrong way: the metric is lifted, the posterior is not."""
    plain = Taylor(order=2, centre=[6.0, 6.0])(CASES["robust"][0])
    assert (plain.metric.kept < 0).any()
    points, q = np.random.default_rng(1).normal(size=(6, 2)), np.full((6, 6), 1 / 6)
    posteriors = [FiniteProblem.of(t, points, q).posterior() for t in (CASES["robust"][0], plain, plain.whitened())]
    assert posteriors[1] == pytest.approx(posteriors[0], rel=1e-7)
    assert posteriors[2] == pytest.approx(posteriors[0], rel=1e-7)


def test_other_steps_of_the_autoregressive_proposal():
    """Half Student-t, a quarter random walk, a quarter shorter autoregressions, each with its own ratio."""
    proposal = Autoregressive(rho=0.0, robust_share=1.0)
    bound = proposal.bind(proposal.prepare(Taylor(order=2)(CASES["logistic"][0])))
    rng, here, there = np.random.default_rng(2), np.array([1.0, -2.0]), np.empty(2)
    ratios, squares = np.empty((4000, 4)), np.empty(4000)
    for row, k in zip(ratios, range(4000), strict=True):
        row[0] = bound.propose(rng, here, there, bound.knobs)
        squares[k] = there @ there
        row[1:] = 3.5 * np.log((5 + squares[k]) / 10), 0.0, 0.5 * (squares[k] - 5)
    kinds = np.abs(ratios[:, 1:] - ratios[:, :1]) < 1e-9
    assert kinds.any(axis=1).all()
    assert kinds.mean(axis=0) == pytest.approx([0.5, 0.25, 0.25], abs=0.035)
    heavy = np.sort(squares[kinds[:, 0]] / 2)  # |t|^2 / d is F distributed
    assert stats.kstest(heavy, stats.f(2, 5).cdf).pvalue > 1e-4


@pytest.mark.parametrize("other", [0.0, 0.5, 1.0])
def test_the_mixed_proposal_leaves_its_target_alone(other):
    """Accepted by its ratio on a standard normal target, it keeps standard normal draws standard normal."""
    proposal = Autoregressive(rho=0.4, robust_share=other)
    bound = proposal.bind(proposal.prepare(Taylor(order=2)(CASES["logistic"][0])))
    rng, there = np.random.default_rng(3), np.empty(2)
    states = rng.standard_normal((40_000, 2))
    for here in states:
        log_q = bound.propose(rng, here, there, bound.knobs)
        if np.log(rng.random()) < log_q - 0.5 * (there @ there - here @ here):
            here[:] = there
    assert stats.kstest(states.ravel(), stats.norm.cdf).pvalue > 1e-3
    assert stats.kstest((states**2).sum(axis=1), stats.chi2(2).cdf).pvalue > 1e-3


def test_rho_is_raised_where_the_laplace_law_is_poor():
    rng = np.random.default_rng(3)
    few = LogisticRegression(rng.standard_normal((40, 20)), [0, 1] * 20, prior=Normal(scale=10.0))
    proposal = Autoregressive(robust_share=0.0)
    tree = sample(few, test=MH(), control=Taylor(order=2), proposal=proposal, draws=2000, tune=4000, rng=1)
    assert tree.sample_stats["step_size"].max() < 0.95
    assert tree.sample_stats["acceptance_rate"].mean() == pytest.approx(0.6, abs=0.1)
    many = sample(CASES["logistic"][0], proposal=Autoregressive(), draws=100, rng=1)
    assert (many.sample_stats["step_size"] > 0.9).all()


def test_autoregressive_needs_a_laplace_law():
    with pytest.raises(NotApplicable, match="order=2"):
        sample(GaussianMixture(XS), proposal=Autoregressive())
    with pytest.raises(NotApplicable, match="whitened"):
        sample(CASES["logistic"][0], control=Taylor(order=2, whiten=False), proposal=Autoregressive())
    with pytest.raises(ValueError, match="rho"):
        Autoregressive(rho=1.0)
    with pytest.raises(ValueError, match="robust_share"):
        Autoregressive(robust_share=1.1)
