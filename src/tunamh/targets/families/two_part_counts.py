"""Counts in which zeros have a probability of their own: what zero-inflated and hurdle models share."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from ..._arguments import shown
from ...priors.independent import IndependentPrior
from ..coordinates.shared import Probability
from ..observations.base import Observations
from ..observations.row_layout import Extra, RowLayout, column_names, shared_scalar
from .base import BaseFamily, Responses
from .counts import OfCounts
from .formula_likelihood import FormulaLikelihood
from .links import LOG
from .logistic import Logistic
from .poisson import Poisson
from .second_parameter import by_columns, described_by_columns, start_at


class TwoPartFamily(OfCounts, BaseFamily):
    """A family of counts with a further probability, for example of extra zeros.

    The probability is one number, or it depends on columns through the logistic function. Its name is the only entry of
    ``described``; ``likelihood`` is the likelihood of rows in which it depends on columns.
    """

    responses = Responses.COUNTS
    link = LOG
    counts: Any
    likelihood: ClassVar[Any]

    count_families: ClassVar[tuple[type, ...]] = (Poisson,)

    def check_settings(self) -> None:
        """Raise a TypeError if the family of the counts or the prior of the probability is not allowed."""
        if not isinstance(self.counts, self.count_families):
            known = " or ".join(f"{kind.__name__}()" for kind in self.count_families)
            raise TypeError(f"{type(self).__name__} needs the family of the counts, {known}, got {shown(self.counts)}.")
        (name,) = self.described
        prior = self.parameter_prior(name)
        if prior is not None and not isinstance(prior, IndependentPrior):
            raise TypeError(f"{name} must be a prior of coefficients such as Normal(scale=1), got {shown(prior)}.")

    def probability_prior(self, observations: Observations) -> Any:
        """Return the prior that the user has set for the coefficients of the probability; None if there is none.

        The probability depends on columns only if the model has ``predictors=`` for it. Otherwise a prior raises an
        error.
        """
        (name,) = self.described
        prior = self.parameter_prior(name)
        if prior is not None and not described_by_columns(observations):
            also = f"predictors={{{name!r}: Z}}"
            raise ValueError(f"a prior of {name} is a prior of coefficients of columns: pass {also} too.")
        return prior

    def arrange(self, observations: Observations, temper: float) -> RowLayout:
        (name,) = self.described
        prior = self.probability_prior(observations)
        if described_by_columns(observations):
            return by_columns(observations, self.likelihood, name, prior, start_at(observations))
        names = column_names(observations)
        coordinates, begin = Probability(len(names)), np.append(np.zeros(len(names)), 0.5)
        rows = shared_scalar(observations)
        extras = (Extra(name),)
        return RowLayout(rows, self.likelihood, names, coordinates, extras, (Probability.uniform(),), begin)


class TwoPartLikelihood(OfCounts, FormulaLikelihood):
    """Base class of likelihoods of counts that have one formula for zeros and another for positive counts."""

    def rises(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return two boolean arrays (n,): does the energy grow without limit in the first predictor, up and down?

        For a zero it does not, because the other part of the model can explain the zero.
        """
        return y > 0, y > 0

    def kind(self, y: np.ndarray) -> np.ndarray:
        return (y > 0).astype(np.intp)


def softplus_thirds(zeta: np.ndarray, radii: np.ndarray) -> np.ndarray:
    """Return the supremum of ``|S'''|`` near ``zeta`` with ``S(z) = log(1 + e^z)``. For ``S(-zeta)`` it is the same."""
    return Logistic().suprema_near(np.zeros_like(zeta), zeta, radii).third
