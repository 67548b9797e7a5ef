"""Users' own functions: whole outputs, no foreign memory, compiled once."""

import numba
import numpy as np
import pytest
from numba.core import event

import tunamh
from conftest import logistic_data
from tunamh import MH, EnergyTarget, RandomWalk, Taylor, TunaMH, sample
from tunamh.proposals import UserProposal

ROWS = np.random.default_rng(1).standard_normal((300, 2))


@numba.njit
def log_cosh(theta, row):
    total = 0.0
    for j in range(theta.size):
        total += np.log(np.cosh(row[j] - theta[j]))
    return total


@numba.njit
def log_cosh_gradient(theta, row, out):
    for j in range(theta.size):
        out[j] = np.tanh(theta[j] - row[j])


@numba.njit
def log_cosh_hessian(theta, row, out):
    """Off the diagonal nothing is written."""
    for j in range(theta.size):
        out[j, j] = 1.0 / np.cosh(theta[j] - row[j]) ** 2


# ------------------------------------------------------------------------------- outputs written in part only


def test_what_a_proposal_does_not_write_stays_where_the_chain_is():
    @numba.njit
    def one_coordinate(rng, theta, prop):
        j = int(rng.random() * theta.size)
        prop[j] = theta[j] + rng.standard_normal()
        return 0.0

    propose = UserProposal(one_coordinate).bind(EnergyTarget(log_cosh, ROWS, 2.0, dim=2)).propose
    rng, theta, prop = np.random.default_rng(1), np.array([1.0, 2.0]), np.array([7.0, 7.0])
    for _ in range(20):
        propose(rng, theta, prop, np.ones(1))
        assert (prop == theta).sum() == 1


def test_what_a_gradient_does_not_write_is_zero():
    @numba.njit
    def sparse_gradient(theta, row, out):
        """Nothing is written where the row is right of theta: minus the rest of the energy."""
        for j in range(theta.size):
            if row[j] < theta[j]:
                out[j] = 1.0

    @numba.njit
    def hinge(theta, row):
        return max(theta[0] - row[0], 0.0) + max(theta[1] - row[1], 0.0)

    target = EnergyTarget(hinge, ROWS, 2.0, dim=2, gradient=sparse_gradient, c_gradient=1.0)
    assert target.expansion(np.zeros(2)).gradient == pytest.approx((ROWS < 0).sum(axis=0))
    expanded = Taylor(order=1, centre=[0.1, -0.2])(target)
    model, theta, index = expanded.model(), np.array([0.5, 0.3]), np.arange(250)
    remainders = np.empty(250)
    model.energies(theta, index, 250, model.data, remainders)
    centre, x = np.array([0.1, -0.2]), ROWS[:250]
    expected = np.maximum(theta - x, 0) - np.maximum(centre - x, 0) - (x < centre) * (theta - centre)
    assert remainders == pytest.approx(expected.sum(axis=1), abs=1e-12)


def test_what_a_hessian_does_not_write_is_zero():
    @numba.njit
    def either_half(theta, row, out):
        """Rows right of zero write the first coordinate only, the others the second."""
        j = 0 if row[0] > 0.0 else 1
        out[j, j] = 1.0

    settings = {"gradient": log_cosh_gradient, "c_gradient": 1.0, "c_hessian": 1.0}
    target = EnergyTarget(log_cosh, ROWS, 2.0, dim=2, hessian=either_half, **settings)
    right = (ROWS[:, 0] > 0).sum()
    assert target.expansion(np.zeros(2)).hessian == pytest.approx(np.diag([right, 300 - right]))
    expanded = Taylor(order=2, centre=[0.0, 0.0])(target)
    model, theta, remainders = expanded.model(), np.array([0.5, 0.3]), np.empty(250)
    model.energies(theta, np.arange(250), 250, model.data, remainders)
    x = ROWS[:250]
    energy = np.log(np.cosh(theta - x)) - np.log(np.cosh(x)) - np.tanh(-x) * theta
    bend = np.where(x[:, 0] > 0, theta[0], theta[1]) ** 2 / 2
    assert remainders == pytest.approx(energy.sum(axis=1) - bend, abs=1e-12)


# ------------------------------------------------------------------------------------------- foreign memory

GROUPS = np.concatenate([np.tile([1.0, 2.0], 100), [3.0], np.tile([1.0, 2.0], 50)])  # row 200 alone is in group 3


@numba.njit
def of_group(theta, row):
    return abs(theta[int(row[0])])


def test_an_index_beyond_theta_in_one_row_names_the_row():
    with pytest.raises(IndexError, match=r"energy .* row 200 .*index 3 .*size 3.* from 1"):
        EnergyTarget(of_group, GROUPS, 1.0, dim=3)
    EnergyTarget(of_group, GROUPS, 1.0, dim=4)


def test_a_function_that_raises_at_zero_is_audited_elsewhere():
    @numba.njit
    def needs_positive(theta, row):
        if theta[0] <= 0.0:
            raise ValueError("theta must be positive")
        return abs(theta[int(row[0])])

    with pytest.raises(IndexError, match="row 200"):
        EnergyTarget(needs_positive, GROUPS, 1.0, dim=3)

    @numba.njit
    def prior(theta):
        if theta[0] == 0.0:
            raise ValueError("zero")
        return theta[3]

    with pytest.raises(IndexError, match="log_prior"):
        EnergyTarget(log_cosh, ROWS, 2.0, dim=2, prior=prior)


def test_rows_that_could_not_be_audited_are_when_a_chain_starts():
    @numba.njit
    def far_out_only(theta, row):
        if theta[0] < 50.0:
            raise ValueError("theta must be large")
        return abs(theta[int(row[0])])

    settings = {"test": MH(), "proposal": RandomWalk(0.01), "draws": 10, "tune": 0, "chains": 1, "rng": 1}
    with pytest.raises(IndexError, match="row 200"):
        sample(EnergyTarget(far_out_only, GROUPS, 1.0, dim=3), init=[60.0, 0.0, 0.0], **settings)
    target = EnergyTarget(far_out_only, GROUPS, 1.0, dim=4)
    sample(target, init=[60.0, 0.0, 0.0, 0.0], **settings)
    with pytest.raises(tunamh.NonFiniteEnergy, match="initial state"):
        sample(target, init=np.zeros(4), **settings)


def test_rows_that_raise_do_not_hide_the_others():
    @numba.njit
    def often_raises(theta, row):
        if row[0] == 1.0:
            raise ValueError("one")
        return abs(theta[int(row[0])])

    with pytest.raises(IndexError, match="row 200"):
        EnergyTarget(often_raises, GROUPS, 1.0, dim=3)
    EnergyTarget(often_raises, GROUPS, 1.0, dim=4)


def test_helpers_are_audited_with_the_function_that_calls_them():
    def with_helper(look_up):
        @numba.njit
        def energy(theta, row):
            return abs(look_up(theta, row))

        return energy

    @numba.njit
    def look_up(theta, row):
        return theta[int(row[0])]

    with pytest.raises(IndexError, match=r"energy .* row 200"):
        EnergyTarget(with_helper(look_up), GROUPS, 1.0, dim=3)
    with pytest.raises(IndexError, match=r"energy .* row 200"):
        EnergyTarget(calls_a_global_helper, GROUPS, 1.0, dim=3)
    assert EnergyTarget(calls_a_global_helper, GROUPS, 1.0, dim=4).n_rows == GROUPS.size


@numba.njit
def calls_a_global_helper(theta, row):
    return 2.0 * of_group(theta, row)


@pytest.mark.parametrize("kind", ["gradient", "hessian", "distance", "log_prior", "propose"])
def test_every_users_function_is_audited(kind):
    @numba.njit
    def gradient(theta, row, out):
        out[int(row[0])] = 1.0

    @numba.njit
    def hessian(theta, row, out):
        out[0, int(row[0])] = 1.0

    @numba.njit
    def distance(theta, prop):
        return abs(theta[3] - prop[3])

    @numba.njit
    def prior(theta):
        return theta[3]

    @numba.njit
    def propose(rng, theta, prop):
        if theta[0] == 0.0:
            raise ValueError("zero")
        prop[3] = 1.0
        return 0.0

    @numba.njit
    def energy(theta, row):
        return abs(theta[0] - row[0])

    make = {
        "gradient": lambda: EnergyTarget(energy, GROUPS, 1.0, dim=3, gradient=gradient),
        "hessian": lambda: EnergyTarget(energy, GROUPS, 1.0, dim=3, hessian=hessian),
        "distance": lambda: EnergyTarget(energy, GROUPS, 1.0, dim=3, distance=distance),
        "log_prior": lambda: EnergyTarget(energy, GROUPS, 1.0, dim=3, prior=prior),
        "propose": lambda: sample(EnergyTarget(energy, GROUPS, 1.0, dim=3), proposal=propose),
    }[kind]
    with pytest.raises(IndexError, match=rf"{kind} .*beyond") as caught:
        make()
    assert ("row 200" in str(caught.value)) == (kind in ("gradient", "hessian"))


def test_a_gradient_that_does_not_compile_says_so_at_once():
    @numba.njit
    def gradient(theta, row, out):
        out[0] = "steep"

    with pytest.raises(TypeError, match=r"gradient.* does not compile"):
        EnergyTarget(log_cosh, ROWS, 2.0, dim=2, gradient=gradient)


# --------------------------------------------------------------------------------------------- compiled once


def compilations(action):
    with event.install_recorder("numba:compile") as recorder:
        action()
    return [name for _, record in recorder.buffer if record.is_start for name in [record.data["dispatcher"]]]


def test_users_functions_are_compiled_once():
    @numba.njit
    def prior(theta):
        return -0.5 * theta[0] ** 2

    @numba.njit
    def propose(rng, theta, prop):
        for j in range(theta.size):
            prop[j] = theta[j] + 0.3 * rng.standard_normal()
        return 0.0

    @numba.njit
    def distance(theta, prop):
        return np.sqrt(((theta - prop) ** 2).sum())

    derivatives = {"gradient": log_cosh_gradient, "hessian": log_cosh_hessian, "c_gradient": 1.0, "c_hessian": 1.0}
    few = {"draws": 5, "tune": 5, "chains": 1, "rng": 1}

    def everything():
        target = EnergyTarget(log_cosh, ROWS, 2.0, dim=2, prior=prior, distance=distance, **derivatives)
        sample(target, test=TunaMH(), proposal=propose, **few)
        sample(target, test=MH(), proposal=RandomWalk(0.1), **few)
        for order in (1, 2):
            sample(target, test=TunaMH(), control=Taylor(order=order), **few)
        X, y = logistic_data(100, 2)
        sample(tunamh.LogisticRegression(X, y, prior=prior), proposal=propose, **few)

    assert compilations(everything)
    assert compilations(everything) == []


def test_a_recompiled_function_is_not_taken_for_the_old_one():
    scope = {"numba": numba, "level": 1.0}
    exec("@numba.njit\ndef prior(theta):\n    return level", scope)

    def log_prior():
        model = EnergyTarget(log_cosh, ROWS, 2.0, dim=2, prior=scope["prior"]).model()
        return model.log_prior(np.zeros(2), model.prior_hyper)

    assert log_prior() == 1.0
    scope["level"] = 2.0
    scope["prior"].recompile()
    assert log_prior() == 2.0


# -------------------------------------------------------------------------------------------- without bounds


def test_an_energy_without_bounds_serves_full_data_mh():
    @numba.njit
    def square(theta, row):
        return 0.5 * (theta[0] - row[0]) ** 2

    target = EnergyTarget(square, ROWS[:, 0], np.inf, dim=1)
    tree = sample(target, test=MH(), draws=2000, tune=500, rng=1)
    assert float(tree.posterior["theta"].mean()) == pytest.approx(ROWS[:, 0].mean(), abs=0.02)
    for test in (TunaMH(), tunamh.MHSS(), tunamh.FactorizedMH()):
        with pytest.raises(tunamh.NotApplicable, match=r"row 0 has none: use MH\(\)"):
            sample(target, test=test, rng=1)
    some = np.ones(300)
    some[7] = np.inf
    with pytest.raises(tunamh.NotApplicable, match="row 7"):
        sample(EnergyTarget(square, ROWS[:, 0], some, dim=1), rng=1)


def test_minus_infinity_is_no_bound():
    with pytest.raises(ValueError, match="c has -inf in row 0"):
        EnergyTarget(log_cosh, ROWS, -np.inf, dim=2)
