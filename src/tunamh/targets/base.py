"""What every target offers to the rest of the library."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._arguments import moderate_number
from .._linear import Frame, Metric, metric
from ..compiled import BLOCK, Data, Model, fixed
from ..errors import NotApplicable
from ..priors import PriorExpansion, ReadyPrior, as_prior
from ..proposals import RandomWalk
from ..rows.gathered_rows import GatheredRows
from ..rows.packing import HeldRows, PackedRows
from ..rows.supply import GATHERED, Supply, random_access
from .layouts import pack_hyper
from .parts import Parts
from .value import Value

if TYPE_CHECKING:
    from .observations.observed import SeenResponses
    from .search.newton import Mode


class Expansion(NamedTuple):
    """An energy (negative log-likelihood, or minus log posterior) at one point, with its gradient and Hessian.

    ``energy`` is a number, ``gradient`` an array (d,), and ``hessian`` an array (d, d). If ``frame`` is set, the
    Hessian is in the coordinates of this frame; `plain_hessian` is in the coordinates of the parameters. The gradient
    is always in the coordinates of the parameters.

    If ``bounds`` is set, it has bounds of the rows' remainders that the same pass over the rows has found.
    """

    energy: float
    gradient: np.ndarray
    hessian: np.ndarray
    frame: Frame | None = None
    bounds: Any = None

    def plus(self, prior: PriorExpansion) -> Expansion:
        """Return the sum of this expansion and of the expansion of the prior's energy at the same point."""
        curvature = prior.hessian if self.frame is None else self.frame.of_form(prior.hessian)
        return self._replace(
            energy=self.energy + prior.energy,
            gradient=self.gradient + prior.gradient,
            hessian=self.hessian + curvature,
            bounds=None,
        )

    def metric(self) -> Metric:
        """Return the `Metric` of the Hessian, in the coordinates of the parameters."""
        return metric(self.hessian, self.frame)

    @property
    def plain_hessian(self) -> np.ndarray:
        """Return the Hessian in the coordinates of the parameters, an array (d, d)."""
        return self.hessian if self.frame is None else self.frame.inverse.T @ self.hessian @ self.frame.inverse

    @property
    def width(self) -> np.ndarray:
        """Return an array (d,): one over the root of each coordinate's curvature; infinite if it is not positive."""
        curvature = np.diag(self.plain_hessian)
        return np.divide(1.0, np.sqrt(np.abs(curvature)), out=np.full(len(curvature), np.inf), where=curvature > 0)


class Target(Value):
    """Base class of targets. A target is a posterior ``prior(theta) exp(-sum_i U_i(theta))``, up to a constant.

    The sum is over the rows ``i`` of the data, and ``U_i`` is the energy (negative log-likelihood) of row ``i``. Each
    row has a bound ``c_i`` with ``|U_i(prop) - U_i(theta)| <= c_i M(theta, prop)`` for all ``theta`` and ``prop``;
    ``M`` is a distance. ``U_i`` and ``c_i`` include the temper and the weight of the row. The temper does not change
    the prior.

    You need this class only for a new kind of target. `tunamh.regression`, `GLM`, `MixedModel` and `EnergyTarget` make
    targets from data.

    Parameters
    ----------
    packed : PackedRows
        The rows in the form that compiled code reads. If the rows are an array, tunamh makes this array read-only.
    hyper : sequence of float
        The fixed numbers that the compiled functions of the target need.
    family_hyper : sequence of float
        The fixed numbers that the compiled functions of the family need.
    dim : int
        The number of parameters.
    names : sequence of str, optional
        The names of the parameters. Default: ``"0"``, ``"1"``, and so on.
    prior : optional
        The prior as the user writes it. Default: a flat prior.
    ready : ReadyPrior, optional
        The prior that is already bound to this target. Default: tunamh binds ``prior``.
    temper : float
        The number that multiplies the energies of all rows, but not the prior.
    """

    states: int | None = None
    """The number of states of a finite target; None in continuous space."""

    mixture: Any = None
    """The scales of the prior, if they are part of the state (`tunamh.priors.mixtures.Mixture`); otherwise None."""

    predictors: int = 1
    """The number of linear predictors per row, data columns of the energy included: a chain has room for so many."""

    formula: Any = None
    """If the target was made from a formula: what the formula has learned from the data."""

    kept_rows: np.ndarray | None = None
    """The places in the user's table of `some_rows`, where a formula left rows with missing values out."""

    @property
    def seen_responses(self) -> SeenResponses | None:
        """Return responses of some or all rows. Results keep them in the group ``observed_data``.

        The result is None if the rows are not in memory.
        """
        return None

    several_modes: bool = False
    """Whether chains must start far apart to find all modes."""

    several_modes_mean: str = (
        "Several modes mean that the model does not fit: look at the residuals, and at the family's scale."
    )
    """What to do where there are several modes."""

    own_bounds: bool = False
    """Whether the bounds come from the user, who can then correct them."""

    fingerprint_of_all_rows: bool = False
    """Whether `fingerprint` depends on all rows. If False, it depends on some rows only."""

    walks_linearly: bool = False
    """Whether `to_user` is known to be a linear map."""

    @property
    def description(self) -> dict[str, Any] | None:
        """Return a dict that describes the model. `tunamh.predict` needs it, and results keep it.

        The result is None if nothing can be predicted.
        """
        return None

    def __init__(
        self,
        *,
        packed: PackedRows,
        hyper: Sequence[float] | np.ndarray,
        family_hyper: Sequence[float] = (),
        dim: int,
        names: Sequence[str] | None = None,
        prior: Any = None,
        ready: ReadyPrior | None = None,
        temper: float = 1.0,
    ):
        names = list(names) if names is not None else [str(j) for j in range(dim)]
        prior = as_prior(prior, names) if ready is None else prior
        self._settle(
            parts=packed.parts,
            dim=dim,
            temper=temper,
            names=names,
            prior=prior,
            own_numbers=tuple(float(value) for value in hyper),
            _family_hyper=fixed(family_hyper),
            _prior=prior.bind(dim) if ready is None else ready,
        )
        rows = packed.rows
        if isinstance(rows, np.ndarray):
            self._settle(n_rows=len(rows), _packed=HeldRows(rows, packed.bound_column))
        elif isinstance(rows, GatheredRows):
            self._settle(n_rows=rows.n_rows, _packed=rows)
        else:
            self._settle(n_rows=rows)

    parts: Parts
    dim: int
    temper: float
    names: list[str]
    prior: Any
    own_numbers: tuple[float, ...]
    n_rows: int
    _prior: ReadyPrior
    _family_hyper: np.ndarray

    @cached_property
    def _hyper(self) -> np.ndarray:
        """The numbers that the compiled parts share."""
        return pack_hyper(self.own_numbers)

    @cached_property
    def _packed(self) -> HeldRows | GatheredRows:
        return self._pack()

    @property
    def rows(self) -> np.ndarray:
        """Return the packed rows: an array with all numbers that compiled code reads, one line for each row.

        The array is made when it is first needed. Raises `NotApplicable` if not all rows fit into memory.
        """
        return self._held.rows

    @property
    def _held(self) -> HeldRows:
        packed = self._packed
        if isinstance(packed, GatheredRows):
            raise NotApplicable(
                f"this needs all {self.n_rows:,} rows in memory; packed, they take {packed.packed_size:,} bytes, and "
                f"{packed.memory:,} are allowed: set a larger memory= of open_rows, or leave test= and control= out"
            )
        return packed

    @property
    def gathered(self) -> GatheredRows | None:
        """Return the rows that the chains will draw next, if not all rows fit into memory; otherwise None.

        These rows were read from the source in one pass.
        """
        return self._packed if isinstance(self._packed, GatheredRows) else None

    def best_mode(self) -> Mode:
        """Return the mode that has, by Laplace's approximation, the largest share of the posterior probability."""
        from .search.newton import best_mode  # which knows what an expansion is from here

        return best_mode(self)

    def _pack(self) -> HeldRows | GatheredRows:
        """The packed rows of a target that gave their number only."""
        raise NotImplementedError

    @property
    def c(self) -> np.ndarray:
        """Return the bounds ``c_i`` of the rows, an array (N,).

        ``|U_i(b) - U_i(a)| <= c_i M(a, b)`` holds for all parameter vectors ``a`` and ``b``. ``U_i`` is the energy
        (negative log-likelihood) of row ``i``, with temper and weight. ``M`` is the distance of the target, such as the
        Euclidean distance.
        """
        return self._held.bounds

    @cached_property
    def total_bound(self) -> float:
        """Return the sum ``C`` of the bounds ``c_i`` of all rows, a number (see `c`)."""
        return self._packed.total

    @cached_property
    def supply(self) -> Supply:
        """Return the object that draws rows at random for a test or kernel.

        It draws row ``i`` with the probability ``c_i / C``: the bound of the row, divided by the sum of all bounds. If
        not all rows fit into memory, each chain has a separate supply.
        """
        if self.gathered is not None:
            return GATHERED
        held = self._held
        return random_access(held.rows, held.column)

    @cached_property
    def precision_trace(self) -> float:
        """Return a rough value of the trace of the posterior precision matrix. It gives the size of a first step.

        The value is ``sum_i c_i^2 / temper`` plus the trace of the prior's precision. ``c_i`` is the bound of row
        ``i``, with temper and weight (see `c`). The reason: if the model is right, the Fisher information equals the
        mean squared gradient, and ``c_i`` bounds the gradient of row ``i``.
        """
        trace = self._packed.squares / self.temper + float(self._prior.precision.sum())
        return trace if 0 < trace < np.inf else 1.0

    @property
    def data_rows(self) -> int:
        """Return the number of rows in the user's data.

        It differs from ``n_rows``, the number of rows of the target, if tunamh has made several rows from one row of
        the data.
        """
        return self.n_rows

    @property
    def effective_rows(self) -> float:
        """Return the sum of the weights of all rows, multiplied by ``temper``."""
        return self.temper * self.n_rows

    @property
    def non_gaussianity(self) -> float:
        """Return a rough measure of how far the posterior is from a normal distribution.

        The value is near 0 if the posterior is nearly normal, and 1 if nothing is known. It is a rule of thumb and can
        exceed 1.
        """
        return 1.0

    @property
    def walk_spread(self) -> float:
        """Return the standard deviation of the logarithm of the length of a random walk step.

        It is 0 if all steps have the same typical length. It is larger if the prior may give the posterior a narrow
        peak and wide tails.
        """
        return 0.0

    @cached_property
    def fingerprint(self) -> str:
        """Return a short hash of the data, a text.

        It is computed from the shape, from the sum of the bounds, and from up to 1000 rows spread over the data.
        """
        spread = self.rows[:: max(1, self.n_rows // 1000)]
        digest = hashlib.blake2b(np.ascontiguousarray(spread).tobytes(), digest_size=8)
        digest.update(repr((self.rows.shape, self.total_bound)).encode())
        return digest.hexdigest()

    def check_data(self) -> None:
        """Raise an error if the user has changed the data after the target was made."""

    def model(self, rows: np.ndarray | None = None, elsewhere: int = 0) -> Model:
        """Return a `Model`: the target in the form that compiled code reads.

        Each call returns separate temporary arrays, because every chain needs its own. If not all rows fit into memory,
        ``rows`` are the rows that were read in advance for one chain, and ``elsewhere`` is the address of a function
        that makes passes over all rows. By default, all rows are in memory.
        """
        parts = self.parts
        if self._prior.mixture is not None and self.mixture is None:
            raise NotApplicable(
                f"the prior {self.prior!r} has unknown scales. sample(target) draws the scales and the coefficients in "
                "turn: leave test=, proposal= and control= out."
            )
        scratch = (np.empty(size * BLOCK) for size in (self.predictors, self.predictors, 1))
        family = parts.family_rise, parts.family_energy, self._family_hyper
        given = self._held.rows if rows is None else rows
        data = Data(given, self._hyper, *family, parts.dots, parts.dot, parts.sizes, *scratch)
        prior = self._prior
        return Model(
            data=data,
            differences=parts.differences,
            energies=parts.energies,
            scales=parts.scales or parts.energies,
            locate=parts.locate,
            distance=parts.distance,
            offset=parts.offset,
            log_prior=prior.log_prior,
            prior_hyper=prior.hyper,
            dim=self.dim,
            n_rows=self.n_rows,
            total_bound=self.total_bound,
            own_bounds=self.own_bounds,
            elsewhere=elsewhere,
        )

    def to_user(self, points: np.ndarray) -> np.ndarray:
        """Convert points (..., d) from the coordinates of a chain to the user's parameters.

        For example, a chain may use the inverse of a scale instead of the scale.
        """
        return points

    def to_user_in_place(self, points: np.ndarray) -> np.ndarray:
        """Convert points as `to_user` does. The function may write the result into the array ``points``."""
        return self.to_user(points)

    def to_chain(self, point: np.ndarray) -> np.ndarray:
        """Convert one point (d,) from the user's parameters to the coordinates of a chain.

        This is the inverse of `to_user`.
        """
        return point

    @property
    def variables(self) -> list[tuple[str, list[str] | None]]:
        """Return the variables of the results: a list of pairs (name, labels).

        The labels are the names of the elements of the variable, a list. They are None if the variable is a single
        number.
        """
        return [("theta", self.names)]

    def remarks(self) -> list[str]:
        """Return a list of sentences that `sample` prints before it starts. They are not warnings."""
        return []

    @property
    def recorded(self) -> list[str]:
        """Return the names of the numbers that a chain stores for each draw, in the order of the chain."""
        return self.names

    @property
    def reported(self) -> list[str]:
        """Return the names of the user's parameters, a list, as `tunamh.summary` shows them.

        There is one name for each number that `to_user` returns.
        """
        return [
            f"{name}{label}"
            for name, labels in self.variables
            for label in ([""] if labels is None else [f"[{label}]" for label in labels])
        ]

    def state_at(self, theta: np.ndarray) -> np.ndarray:
        """Return the state of a chain, an array, at which the parameters are ``theta`` (d,)."""
        return theta.copy()

    def search_starts(self) -> list[np.ndarray]:
        """Return a list of points (d,).

        The search for a mode starts from the point of the list with the highest posterior density.
        """
        return [self._prior.mean.copy()]

    def candidates(self) -> np.ndarray:
        """Return points near modes, an array (k, d). They were found on a random sample of the rows.

        The array is empty (k = 0) if there is at most one mode, or if no search was made.
        """
        return np.empty((0, self.dim))

    def rivals(self, known: Mode) -> np.ndarray:
        """Return points near further modes that the first search may have missed, an array (k, d).

        ``known`` is the mode that the first search has found.
        """
        return np.empty((0, self.dim))

    def energies_at(self, points: np.ndarray) -> np.ndarray:
        """Return minus the log posterior density, up to a constant, at ``points`` (k, d): an array (k,)."""
        data = np.array([self.expansion(point).energy for point in points])  # type: ignore[attr-defined]
        return data + self._prior_energies_at(points)

    def _prior_energies_at(self, points: np.ndarray) -> np.ndarray:
        return np.array([-self._prior.log_prior(point, self._prior.hyper) for point in points])

    def samples(self) -> Iterator[Target]:
        """Yield targets on random samples of the rows, from small to large samples.

        The search for a mode uses these targets before it reads all rows. The weights of the rows in a sample are
        multiplied so that the sample represents all rows.
        """
        return iter(())

    def supported_point(self) -> np.ndarray | None:
        """Return a point (d,) at which the posterior density is positive; None if no such point is known."""
        return None

    def nearest(self, theta: np.ndarray) -> np.ndarray:
        """Return the point (d,) closest to ``theta`` at which the posterior density is positive."""
        return theta

    def start(self, rng: np.random.Generator, chain: int = 0) -> np.ndarray:
        """Return a random initial state of a chain, an array (d,), from the standard normal distribution.

        Other targets, such as regressions, use another distribution. `sample` calls this method for each chain if the
        user does not set ``init``. ``rng`` is a random generator, and ``chain`` is the number of the chain.
        """
        return rng.standard_normal(self.dim)

    def default_proposal(self) -> Any:
        """Return the proposal that `MetropolisHastings` uses for this target by default."""
        return RandomWalk()

    def own_kernel(self) -> Any:
        """Return the kernel that this target needs; None if any kernel can sample it.

        A `MixedModel` needs a special kernel, which updates the parameters and then the effects of every group.
        """
        return None

    def why_own_kernel(self) -> str:
        """Return a short text for the user: what a step of the special kernel of this target does.

        The text is empty if the target has no special kernel (`own_kernel`).
        """
        return ""

    @property
    def _about(self) -> str:
        temper = "" if self.temper == 1 else f", temper={self.temper:g}"
        return f"{self.n_rows} rows, {self.dim} parameters, prior={self.prior!r}{temper}"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._about})"


def checked_temper(temper: float) -> float:
    """Return ``temper`` as a float, or raise an error if it is not positive and finite. It multiplies every energy."""
    return moderate_number("temper", temper)
