"""What is known of a family: one class with a default for everything, so that nobody has to ask what it has."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from ..observations.row_layout import RowLayout, column_names
from .likelihood import LowerBound, OnePredictorLikelihood, Suprema
from .links import IDENTITY, Link

if TYPE_CHECKING:
    from ...rows.source import Rows
    from ...tables.columns import Factor
    from ..observations.base import Observations
    from ..observations.observed import InMemory
    from .responses import Parameters, ResponseDistribution

__all__ = ["BaseFamily", "Family", "Location", "LowerBound", "Responses", "Suprema"]


class Responses(Enum):
    """The kind of a response. The value is the name of the kind at the shell."""

    LABELS = "0 or 1"
    REALS = "real"
    COUNTS = "counts"
    POSITIVE = "positive"
    PROPORTIONS = "proportions"
    CLASSES = "classes"


class Location(NamedTuple):
    """The values of linear predictors that are expected before the data are seen: a centre, and the unit of variation.

    ``centre`` is None for a user's own family that does not say what its responses are.
    """

    centre: float | None
    unit: float


_TYPICAL = 0.6745  # the median of the absolute value of a standard normal


class BaseFamily(ABC):
    """Base class of all families. A family is the distribution of a response, given its linear predictors.

    A subclass overrides the defaults that are not true for it. For your own family, use `tunamh.family` or
    `tunamh.extend.Family`.
    """

    responses: ClassVar[Responses | None] = None
    """The kind of responses; None if any numbers are allowed, as in a user's own family."""

    word: ClassVar[str | None] = None
    """The name of the family at the shell; None if the shell does not offer it."""

    link: ClassVar[Link] = IDENTITY

    # ------------------------------------------------------------------------------ parameters, beside the coefficients

    parameters: ClassVar[tuple[str, ...]] = ()
    """The names of the family's parameters, as in results."""

    probabilities: ClassVar[tuple[str, ...]] = ()
    """Those parameters that are probabilities, with a uniform prior."""

    real_parameters: ClassVar[tuple[str, ...]] = ()
    """Those parameters that may be any number: cutpoints, log hazards."""

    @property
    def positive_parameters(self) -> tuple[str, ...]:
        """Return a tuple with the names of those parameters of the family that are positive numbers."""
        return tuple(name for name in self.parameters if name not in (*self.probabilities, *self.real_parameters))

    named_predictors: tuple[str, ...] = ()
    """The predictors of a model that is not linear, each with columns of its own; others have none."""

    data_columns: tuple[str, ...] = ()
    """Columns of the data that the energy of a user's own family is given as they are."""

    described: tuple[str, ...] = ()
    """The parameters that may depend on columns (``predictors={"scale": Z}``)."""

    parameter_links: ClassVar[Mapping[str, Link]] = {}
    """The links of the parameters that depend on columns."""

    def known_parameters(self) -> dict[str, float]:
        """Return the parameters that have known values: a dict from names to values.

        If the family contains another family, as `Hurdle` does, the known parameters of the other family are included.
        """
        found: dict[str, float] = {}
        for name, value in self.settings().items():
            if isinstance(value, BaseFamily):
                found = {**value.known_parameters(), **found}
            elif isinstance(value, int | float) and not isinstance(value, bool):
                found[name] = float(value)
        return found

    def settings(self) -> dict[str, Any]:
        """Return the arguments with which the family was made: a dict from names to values."""
        own: Any = self
        return {one.name: vars(own)[one.name] for one in fields(own)} if is_dataclass(own) else {}

    def parameter_prior(self, name: str) -> Any:
        """Return the prior that the user has set for the parameter ``name``; None if there is none."""
        return self.settings().get(name)

    # --------------------------------------------------------------------------------------------- what it may be given

    takes_censoring: ClassVar[bool] = False

    takes_entry: ClassVar[bool] = False
    """Whether rows may come under observation after time 0 (delayed entry)."""

    takes_strata: ClassVar[bool] = False
    """Whether strata have parameters of their own."""

    hazards_alone: ClassVar[bool] = False
    """Whether a model without any column is one: of hazards, which are the family's own."""

    def settled(self, observations: Observations) -> BaseFamily:
        """Return the family with those numbers that must be computed from the data.

        For example, `PiecewiseExponential` computes the times at which the hazard changes from the times of the events.
        Most families need no such numbers and return themselves.
        """
        return self

    linear_in_label: ClassVar[bool] = False
    """For labels: whether ``k`` successes in ``n`` trials may be one row of weight ``n`` and response ``k/n``."""

    def for_trials(self) -> BaseFamily:
        """Return the family for rows whose response is a number of successes in several trials.

        It is this family or a changed copy.
        """
        return self

    def of_trials(self, found: InMemory, trials: np.ndarray) -> InMemory:
        """Return rows with labels, made from rows with numbers of successes.

        The responses in ``found`` are the numbers of successes; ``trials`` (n,) has the numbers of trials.
        """
        raise NotImplementedError

    def class_codes(self, found: Factor) -> tuple[np.ndarray, tuple[str, ...]]:
        """Return the class of each row as a number, an array (n,), and the names of the classes, a tuple.

        ``found`` is the column of the response. Only families of classes have this method.
        """
        raise NotImplementedError

    def check(self, y: np.ndarray) -> None:  # noqa: B027 - a family may take any numbers
        """Raise a ValueError if the family does not allow a response in ``y``."""

    def warnings(self, observations: Observations) -> list[str]:
        """Return a list of sentences for the user: warnings about the data ``observations``."""
        return []

    @property
    def of_labels(self) -> bool:
        """Return True if the responses are labels 0 and 1."""
        return self.responses is Responses.LABELS

    @property
    def of_classes(self) -> bool:
        """Return True if the responses are classes without an order."""
        return self.responses is Responses.CLASSES

    # --------------------------------------------------------------------------------------------------- rows and scale

    @abstractmethod
    def arrange(self, observations: Observations, temper: float) -> RowLayout:
        """Return a `RowLayout`: which numbers of each row the compiled code reads, and in which order.

        The layout also has the unknown parameters with their priors, their coordinates and their initial values.
        ``observations`` are the rows, and ``temper`` is a number that multiplies the energies (negative
        log-likelihoods) of all rows.
        """

    own_intercepts: ClassVar[bool] = False
    """Whether parameters of the family (cutpoints, log hazards) take the place of the intercept in formulas."""

    coefficients_per_class: ClassVar[bool] = False
    """Whether every class except the reference has its own vector of coefficients."""

    regresses_logarithm: ClassVar[bool] = False
    """Whether the logarithm of the response is the linear predictor plus an error."""

    robust: ClassVar[bool] = False
    """Whether outliers are expected. If so, medians are used for typical deviations."""

    squared: ClassVar[bool] = False
    """Whether the energy is quadratic in the residual, also for large residuals."""

    median_size: ClassVar[float] = _TYPICAL
    """The median of the absolute value of an error of scale 1."""

    def response(self, rows: Rows) -> np.ndarray:
        """Return the array (n,) ``y`` of ``rows``, or ``log y`` if the family models the logarithm of the response."""
        return np.log(rows.y) if self.regresses_logarithm else rows.y

    @property
    def known_scale(self) -> float | None:
        """Return the scale of the errors if it is a known number; otherwise None."""
        return None

    @property
    def unknown_scale(self) -> bool:
        """Return True if the scale of the errors is unknown.

        If the scale is unknown and the responses of all rows are equal, there is no posterior.
        """
        return False

    def with_default_scale(self, prior: Any) -> BaseFamily | None:
        """Return a copy of the family with ``prior`` as the prior of its scale.

        The result is None if the user has set the scale, or if the family has no scale.
        """
        return None

    def location(
        self, y: np.ndarray, weights: np.ndarray | None = None, moments: tuple[float, float] | None = None
    ) -> Location:
        """Return a typical value (``centre``) and a typical size (``unit``) of the linear predictors.

        The default priors use these two numbers (`tunamh.priors.default`). They are computed from the responses:

        - real responses: the mean and the standard deviation;
        - a family that models the logarithm of the response: the same for the logarithms;
        - a robust family: the unit is the median absolute deviation divided by 0.6745, if this is not zero;
        - a family with a link: the unit is 1; the centre is the logarithm of the mean for a log link, and 0 for other
          links.

        Parameters
        ----------
        y : (n,)
            The responses of all rows, or of a sample.
        weights : (n,), optional
            The weights of the rows.
        moments : pair of float, optional
            The mean and the standard deviation of all responses, if ``y`` is only a sample.
        """
        if self.responses is None:
            return Location(None, 1.0)
        values = np.asarray(y, dtype=np.float64)
        weights = np.ones(len(values)) if weights is None else weights
        if self.regresses_logarithm:
            values, weights, moments = np.log(values[values > 0]), weights[values > 0], None
        if not weights.sum() > 0:
            return Location(0.0, 1.0)
        centre, deviation = _moments(values, weights) if moments is None else moments
        if not (self.regresses_logarithm or self.responses is Responses.REALS):
            return Location(self.link.centre(centre), 1.0)
        if self.robust:
            typical = _median(np.abs(values - _median(values, weights)), weights) / _TYPICAL
            deviation = typical if typical > 0 else deviation
        return Location(centre, deviation if deviation > 1e-12 * abs(centre) else max(abs(centre), 1.0))

    # ------------------------------------------------------------------------------------------ the response, the shell

    def response_distribution(self) -> ResponseDistribution | None:
        """Return an object with the distribution of a response, given its linear predictor.

        The result is None if this distribution is not known. Then `tunamh.predict` can only return linear predictors.
        """
        return None

    def latent_variance(self, p: Parameters, mean: float | None) -> Any:
        """Return the variance of one row on the scale of the linear predictor. `tunamh.group_scales` uses it.

        The result is None if the variance is unknown. For labels and ordered classes it is the variance of the latent
        error that belongs to the link; for classes without an order it is ``pi^2 / 3``. For counts and proportions the
        variance depends on the mean of the row; it is computed for a row with the mean ``mean``.

        Parameters
        ----------
        p : dict
            The parameters of the family: numbers or arrays of draws.
        mean : float or None
            The mean of the responses.
        """
        return self.link.variance if self.of_labels or self.of_classes else None

    @classmethod
    def words(cls) -> dict[str, Callable[[], BaseFamily]]:
        """Return the names of the family in the command ``tunamh``, each with a function that makes the family."""
        return {} if cls.word is None else {cls.word: cls}


class Family(BaseFamily, OnePredictorLikelihood):
    """Base class for your own family with one linear predictor. The docstring of `tunamh.extend` has a template.

    ``f(eta, y)`` is the energy (minus log-likelihood) of a row of weight 1. A subclass must have ``energy``, ``rise``,
    ``derivatives`` and ``suprema``. Everything else has a default.
    """

    def arrange(self, observations: Observations, temper: float) -> RowLayout:
        """Return a `RowLayout`: which numbers of each row the compiled code reads, and in which order.

        This is the layout of a family with one linear predictor, in which only the coefficients are unknown.
        ``observations`` are the rows, and ``temper`` is a number that multiplies the energies (negative
        log-likelihoods) of all rows.
        """
        return RowLayout(observations, self, column_names(observations))


def _moments(values: np.ndarray, weights: np.ndarray) -> tuple[float, float]:
    mean = float(np.average(values, weights=weights))
    return mean, float(np.sqrt(np.average(np.square(values - mean), weights=weights)))


def _median(values: np.ndarray, weights: np.ndarray) -> float:
    """As if a row of weight 2 were given twice: half way between the lower and the upper median."""
    order = np.argsort(values)
    below = np.cumsum(weights[order])
    ends = np.searchsorted(below, 0.5 * below[-1], side="left"), np.searchsorted(below, 0.5 * below[-1], side="right")
    return float(0.5 * sum(values[order[min(at, len(order) - 1)]] for at in ends))
