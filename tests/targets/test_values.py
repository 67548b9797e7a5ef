"""Targets are values: nothing of them can be assigned, and another one carries nothing that was computed."""

import copy
import pickle

import numba
import numpy as np
import pytest

import tunamh
from tunamh import GLM, EnergyTarget, FiniteWalk, GaussianMixture, GroupEffects, Logistic, MixedModel, Normal
from tunamh.targets.observations.observed import InMemory
from tunamh.targets.scale_mixtures.known_error import GivenScalesTarget
from tunamh.trajectories.target import HamiltonianRegression

RNG = np.random.default_rng(3)
X = RNG.standard_normal((400, 2))
Y = (RNG.random(400) < 1 / (1 + np.exp(-X[:, 0]))).astype(float)


@numba.njit
def energy(theta, row):
    return 0.5 * (row[0] - theta[0]) ** 2


def shrunk_target():
    target = GLM(X, Y, Logistic(), prior=tunamh.priors.Horseshoe(0.5))
    mode = target.modes[0]
    return GivenScalesTarget(target.taylor(2, mode.point, mode.expansion, whiten=True, original_bounds=False))


TARGETS = {
    "glm": lambda: GLM(X, Y, Logistic(), prior=Normal(scale=2.0)),
    "named": lambda: tunamh.LogisticRegression(X, Y),
    "unknown scale": lambda: GLM(X, X[:, 0] + Y, tunamh.Gaussian()),
    "mixture": lambda: GaussianMixture(X[:, 0]),
    "walk": lambda: FiniteWalk(X[:, 0], states=5),
    "energy": lambda: EnergyTarget(energy, X[:, :1], 1.0, dim=1),
    "groups": lambda: MixedModel(X, Y, Logistic(), GroupEffects(np.arange(400) % 7), prior=Normal(scale=2.0)),
    "expanded": lambda: tunamh.Taylor(order=2)(GLM(X, Y, Logistic())),
    "whitened": lambda: tunamh.Taylor(order=2)(GLM(X, Y, Logistic())).whitened(),
    "given scales": shrunk_target,
    "trajectories": lambda: HamiltonianRegression(GLM(X, Y, Logistic())),
}


@pytest.mark.parametrize("kind", TARGETS)
@pytest.mark.parametrize("name", ["n_rows", "prior", "_prior", "_hyper", "columns", "a name of nothing"])
def test_no_attribute_is_assigned(kind, name):
    target = TARGETS[kind]()
    with pytest.raises(AttributeError, match="does not change once it is made"):
        setattr(target, name, None)
    with pytest.raises(AttributeError, match="does not change once it is made"):
        delattr(target, name)


@pytest.mark.parametrize("kind", TARGETS)
def test_another_value_carries_nothing_that_was_computed(kind):
    target = TARGETS[kind]()
    before = set(vars(target._with()))
    assert target.total_bound >= 0.0
    _ = target.fingerprint, target.model(), target.start(np.random.default_rng(1)), target.supply
    computed = set(vars(target)) - before
    assert computed  # else nothing is tried here
    other = target._with(temper=2.0)
    assert set(vars(other)) == before
    assert other.temper == 2.0
    assert target.temper == 1.0


def test_modes_and_sums_are_those_of_the_rows_at_hand():
    """What was known of all rows was dropped by a list of names: whatever was not on it stayed."""
    target = GLM(X, Y, Logistic(), prior=Normal(scale=2.0))
    _ = target.modes, target.mixed_prior, target.effective_rows, target.total_bound, target.supply
    some = target.on_rows(np.arange(100))
    assert some.n_rows == 100
    assert some.modes[0].point.tolist() != target.modes[0].point.tolist()
    assert some.total_bound == pytest.approx(4 * target.on_rows(np.arange(100)).c.sum() / 4)
    part = target.on_columns(np.array([False, True]))
    assert (part.dim, part.names, part.chain_names) == (1, ["1"], ["1"])
    assert part.columns.frame is None or part.columns.frame.columns.shape == (1, 1)


def test_a_sample_of_the_rows_has_the_coordinates_of_all_of_them():
    target = GLM(X, Y, Logistic())
    assert target.on_rows(np.arange(50)).columns is target.columns


def test_rows_do_not_change():
    rows = InMemory(GLM(X, Y, Logistic()).observations.design, Y)
    with pytest.raises(AttributeError):
        rows.weights = Y


def test_a_formula_is_a_fact_of_another_target():
    import pandas as pd

    table = pd.DataFrame({"y": Y, "a": X[:, 0], "b": X[:, 1]})
    target = tunamh.regression("y ~ a + b", table, family=Logistic())
    assert target.formula.formula == "y ~ a + b"
    assert target.known_columns is not None  # which the look for redundant columns found out
    assert target.from_origin({"data": "here"}).origin == {"data": "here"}
    assert target.origin is None


@pytest.mark.parametrize("again", [lambda target: pickle.loads(pickle.dumps(target)), copy.copy, copy.deepcopy])
def test_values_can_be_copied_and_pickled(again):
    target = GLM(X, Y, Logistic(), prior=Normal(scale=2.0))
    _ = target.modes
    other = again(target)
    assert repr(other) == repr(target)
    assert other._with(temper=2.0).modes[0].point.tolist() == target._with(temper=2.0).modes[0].point.tolist()
    with pytest.raises(AttributeError):
        other.temper = 3.0
