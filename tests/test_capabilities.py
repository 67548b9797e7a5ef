"""Targets are asked for what they offer: nothing is computed to find out, and nobody asks for a kind of target."""

import re
from functools import cached_property
from pathlib import Path

import numba
import numpy as np
import pytest

import tunamh
from conftest import logistic_data
from tunamh import GLM, EnergyTarget, FiniteWalk, GaussianMixture, Logistic, LogisticRegression, StudentT, Taylor
from tunamh.capabilities import Examined, Expandable, GloballyBounded, LowerBounded, Whitenable, offers

X, Y = logistic_data(50, 2)
SOURCES = Path(tunamh.__file__).parent
CAPABILITIES = [Expandable, Examined, LowerBounded, GloballyBounded, Whitenable]


@numba.njit
def distance(theta, row):
    return abs(theta[0] - row[0])


TARGETS = {
    "GLM": (lambda: GLM(X, Y, Logistic()), {Expandable, Examined, LowerBounded}),
    "StudentT": (lambda: GLM(X, Y, StudentT(4.0, scale=1.0)), {Expandable, Examined, LowerBounded}),
    "LogisticRegression": (lambda: LogisticRegression(X, Y), {Expandable, Examined, LowerBounded}),
    "mixture": (lambda: GaussianMixture(X[:, 0]), {Expandable, LowerBounded, GloballyBounded}),
    "walk": (lambda: FiniteWalk(X[:, 0], states=5), {GloballyBounded}),
    "energy": (lambda: EnergyTarget(distance, X, c=np.ones(50), dim=1), {Expandable}),
    "taylor": (lambda: Taylor(order=2)(GLM(X, Y, Logistic())), {Whitenable}),
    "white": (lambda: Taylor(order=2)(GLM(X, Y, Logistic())).whitened(), {Whitenable}),
    "no target": (lambda: X, set()),
}


@pytest.mark.parametrize("name", TARGETS)
def test_targets_offer_what_they_can(name):
    make, offered = TARGETS[name]
    target = make()
    assert {capability for capability in CAPABILITIES if offers(target, capability)} == offered


@pytest.mark.parametrize("kind", [GLM, GaussianMixture, FiniteWalk, EnergyTarget])
def test_asking_computes_nothing(kind, monkeypatch):
    """No property, no pass over the rows: every attribute that would compute raises."""

    def never(self, *args, **kwargs):
        raise AssertionError("computed to find out")

    lazy = {name for base in kind.__mro__ for name, value in vars(base).items() if isinstance(value, cached_property)}
    lazy |= {name for base in kind.__mro__ for name, value in vars(base).items() if isinstance(value, property)}
    lazy -= {"several_modes"}
    for name in lazy:
        monkeypatch.setattr(kind, name, property(never))
    target = object.__new__(kind)
    assert lazy
    for capability in CAPABILITIES:
        offers(target, capability)
    assert vars(target) == {}
    if kind is GLM:
        assert "modes" in lazy
        with pytest.raises(AssertionError, match="computed"):
            target.modes


def test_a_regression_is_asked_before_its_mode_is_searched_for():
    for target in (GLM(X, Y, Logistic()), GaussianMixture(X[:, 0])):
        before = set(vars(target))
        for capability in CAPABILITIES:
            offers(target, capability)
        assert set(vars(target)) == before
        assert not {"modes", "columns", "total_bound", "supply"} & before


def test_a_target_of_ones_own_is_asked_the_same():
    """A class that has what a capability names offers it; half of it is nothing."""

    class Half(FiniteWalk):
        def expansion(self, theta):
            raise NotImplementedError

    class Whole(Half):
        def taylor(self, order, centre, at_centre, *, whiten, original_bounds):
            raise NotImplementedError

    assert not offers(Half(X[:, 0], states=5), Expandable)
    assert offers(Whole(X[:, 0], states=5), Expandable)


def test_nobody_asks_whether_a_target_is_a_regression():
    asked = [
        f"{path.relative_to(SOURCES)}: {line.strip()}"
        for path in sorted(SOURCES.rglob("*.py"))
        if path.relative_to(SOURCES).parts[0] != "targets"
        for line in path.read_text().splitlines()
        if re.search(r"isinstance\([^)]*\b(GLM|GaussianMixture|EnergyTarget|FiniteWalk)\b", line)
    ]
    assert asked == []
