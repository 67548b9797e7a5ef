"""What every target offers to the rest of the library."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
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
from ..rows.supply import GATHERED, Supply, random_access
from .layouts import pack_hyper
from .parts import Parts
from .value import Value

if TYPE_CHECKING:
    from .observations.observed import SeenResponses
    from .search.newton import Mode


class Expansion(NamedTuple):
    """Energy, gradient and Hessian at one point: of the data or, with the prior's added, of the posterior.

    The Hessian is one in the coordinates of ``frame``, where there is one; the gradient never is.
    """

    energy: float
    gradient: np.ndarray
    hessian: np.ndarray
    frame: Frame | None = None

    def plus(self, prior: PriorExpansion) -> Expansion:
        """Return the sum of this expansion and of the expansion of the prior's energy at the same point."""
        curvature = prior.hessian if self.frame is None else self.frame.of_form(prior.hessian)
        return self._replace(
            energy=self.energy + prior.energy, gradient=self.gradient + prior.gradient, hessian=self.hessian + curvature
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


@dataclass(frozen=True, eq=False)
class PackedRows:
    """The rows of a target as compiled code reads them.

    ``rows`` is (N, width) float64 in C order, or rows that are gathered. A target that packs its rows later
    (`Target._pack`) has only their number here.
    """

    rows: np.ndarray | GatheredRows | int
    bound_column: int  # the column with c_i
    parts: Parts


class Target(Value):
    """A posterior, proportional to ``prior(theta) exp(-sum_i U_i(theta))`` with a sum over the rows ``i`` of the data.

    ``U_i`` is the energy (negative log-likelihood) of row ``i``. Each row has a bound ``c_i``:
    ``|U_i(prop) - U_i(theta)| <= c_i M(theta, prop)`` with a distance ``M``. Tempering and row weights are part of
    ``U_i`` and of ``c_i``. The prior is not tempered.

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
        """Return a subsample of the responses, which results keep in the group ``observed_data``.

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
        """Return a dict with the numbers and names that `tunamh.predict` needs of the model. Results keep this dict.

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
            _bound_column=packed.bound_column,
        )
        rows = packed.rows
        if isinstance(rows, np.ndarray):
            self._settle(n_rows=len(rows), _packed=self._accepted(rows))
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
    _bound_column: int

    @cached_property
    def _hyper(self) -> np.ndarray:
        """The numbers that the compiled parts share."""
        return pack_hyper(self.own_numbers)

    @cached_property
    def _packed(self) -> np.ndarray | GatheredRows:
        rows = self._pack()
        return self._accepted(rows) if isinstance(rows, np.ndarray) else rows

    @property
    def rows(self) -> np.ndarray:
        """Return the packed rows, an array with one line per row: all numbers that compiled code reads of the row.

        The array is made when it is first needed."""
        rows = self._packed
        if isinstance(rows, GatheredRows):
            raise NotApplicable(
                f"this needs all {self.n_rows:,} rows in memory; packed, they take {rows.packed_size:,} bytes, and "
                f"{rows.memory:,} are allowed: set a larger memory= of open_rows, or leave test= and control= out"
            )
        return rows

    @property
    def gathered(self) -> GatheredRows | None:
        """Return the rows that each chain will draw next, if not all rows fit into memory; otherwise None.

        They are read from the source in one pass (*gathered*).
        """
        return self._packed if isinstance(self._packed, GatheredRows) else None

    def _accepted(self, rows: np.ndarray) -> np.ndarray:
        wrong = ~(rows[:, self._bound_column] >= 0)  # infinity is allowed: such a target serves tests without bounds
        if wrong.any():
            row = int(np.argmax(wrong))
            raise ValueError(
                f"bound constants c must not be negative or NaN: row {row} has {rows[row, self._bound_column]:g}"
            )
        rows.flags.writeable = False
        return rows

    def best_mode(self) -> Mode:
        """Return the mode that has, by Laplace's approximation, the largest share of the posterior probability."""
        from .search.newton import best_mode  # which knows what an expansion is from here

        return best_mode(self)

    def _pack(self) -> np.ndarray | GatheredRows:
        """An (N, width) float64 matrix in C order (`tunamh.rows.packing`): of a target that gave its row count only."""
        raise NotImplementedError

    @property
    def c(self) -> np.ndarray:
        """Return an array (N,), the bound ``c_i`` of each row.

        The bound is a number with ``|U_i(b) - U_i(a)| <= c_i M(a, b)`` for all parameter vectors ``a`` and ``b``.
        ``M`` is the distance of two parameter vectors that the target uses, such as the Euclidean distance. ``U_i`` is
        the energy (negative log-likelihood) of row ``i``, with temper and weight.
        """
        return self.rows[:, self._bound_column]

    @cached_property
    def total_bound(self) -> float:
        """Return the number ``C``, the sum of the bounds ``c_i`` of all rows (see `c`)."""
        if self.gathered is not None:
            return self.gathered.total
        with np.errstate(over="ignore"):  # infinity is allowed: such a target serves tests without bounds
            return float(np.sum(self.c))

    @cached_property
    def supply(self) -> Supply:
        """Return the object that draws rows at random: row ``i`` has the probability ``c_i / C``.

        ``c_i`` is the bound of row ``i``, and ``C`` is the sum of all bounds. If rows are not all in memory, each chain
        has its own supply.
        """
        if self.gathered is not None:
            return GATHERED
        return random_access(self.rows, self._bound_column)

    @cached_property
    def precision_trace(self) -> float:
        """Return a rough value of the trace of the posterior precision.

        It is ``sum_i c_i^2 / temper`` plus the trace of the prior's precision. ``c_i`` is the bound of row ``i``, with
        temper and weight (see `c`).

        The reason: if the model is right, the Fisher information equals the mean squared gradient, and ``c_i`` bounds
        the gradient of row ``i``.
        """
        squares = float(np.dot(self.c, self.c)) if self.gathered is None else self.gathered.squares
        trace = squares / self.temper + float(self._prior.precision.sum())
        return trace if 0 < trace < np.inf else 1.0

    @property
    def data_rows(self) -> int:
        """Return the number of rows in the user's data.

        It differs from ``n_rows`` if tunamh has made several rows from one row of the data.
        """
        return self.n_rows

    @property
    def effective_rows(self) -> float:
        """Return the sum of the weights of all rows, multiplied by ``temper``.

        ``temper`` is the number that multiplies the energies of all rows.
        """
        return self.temper * self.n_rows

    @property
    def non_gaussianity(self) -> float:
        """Return a rough measure of how far the posterior is from a normal distribution.

        It is near 0 if the posterior is nearly normal, and 1 if nothing is known. It is a rule of thumb and can exceed
        1.
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
        """Raise an error if the user's arrays changed after the target was made."""

    def model(self, rows: np.ndarray | None = None, elsewhere: int = 0) -> Model:
        """Return a `Model`: the target in the form that compiled code reads.

        Each chain has its own copy with its own temporary arrays. If the rows are read in advance for each chain,
        ``rows`` are those of this chain, and ``elsewhere`` is the address of a function that makes passes over all
        rows. By default, all rows are in memory.
        """
        parts = self.parts
        if self._prior.mixture is not None and self.mixture is None:
            raise NotApplicable(
                f"the prior {self.prior!r} is Gaussian given unknown scales, which sample(target) draws in turn with "
                "the coefficients: leave test=, proposal= and control= out."
            )
        scratch = (np.empty(size * BLOCK) for size in (self.predictors, self.predictors, 1))
        family = parts.family_rise, parts.family_energy, self._family_hyper
        data = Data(
            self.rows if rows is None else rows, self._hyper, *family, parts.dots, parts.dot, parts.sizes, *scratch
        )
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
        """Return the user's parameters (..., d) at points (..., d), which are in the chain's coordinates.

        A chain may use other coordinates than the user, such as the inverse of a scale.
        """
        return points

    def to_chain(self, point: np.ndarray) -> np.ndarray:
        """Return the chain's coordinates (d,) of one point (d,) of user's parameters; the inverse of `to_user`."""
        return point

    @property
    def variables(self) -> list[tuple[str, list[str] | None]]:
        """Return a list with a pair for each variable of the results: its name, and the labels of its elements.

        The labels are None if the variable is a single number.
        """
        return [("theta", self.names)]

    def remarks(self) -> list[str]:
        """Return the messages that `sample` prints before it starts, a list of sentences. They are not warnings."""
        return []

    @property
    def recorded(self) -> list[str]:
        """Return the names of the numbers that a chain keeps for each draw: a list of parts of its state."""
        return self.names

    @property
    def reported(self) -> list[str]:
        """Return the names of the user's parameters, a list, as in `tunamh.summary`.

        There is one name for each number that `to_user` returns.
        """
        return [
            f"{name}{label}"
            for name, labels in self.variables
            for label in ([""] if labels is None else [f"[{label}]" for label in labels])
        ]

    def state_at(self, theta: np.ndarray) -> np.ndarray:
        """Return the state (an array) of a chain whose parameters are ``theta``."""
        return theta.copy()

    def search_starts(self) -> list[np.ndarray]:
        """Return a list of points (d,), from which the search for a mode may start.

        It starts from the point with the highest posterior density."""
        return [self._prior.mean.copy()]

    def candidates(self) -> np.ndarray:
        """Return an array (k, d) of points near the modes that were found on a sample of the rows.

        The array is empty (k = 0) if there is at most one mode, or if no search was made.
        """
        return np.empty((0, self.dim))

    def rivals(self, known: Mode) -> np.ndarray:
        """Return an array (k, d) of points near modes that the search may have missed, besides the mode ``known``."""
        return np.empty((0, self.dim))

    def energies_at(self, points: np.ndarray) -> np.ndarray:
        """Return an array (k,): minus the log posterior density, up to a constant, at each of the points (k, d)."""
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
        """Return a random initial state of a chain, an array, from the standard normal distribution.

        Other targets, such as regressions, use another distribution. `sample` calls this method for each chain if the
        user does not set ``init``. ``rng`` is a random generator, and ``chain`` is the number of the chain.
        """
        return rng.standard_normal(self.dim)

    def default_proposal(self) -> Any:
        """Return the proposal that is used if the user sets none."""
        return RandomWalk()

    def own_kernel(self) -> Any:
        """Return the kernel that this target needs, such as the sweep over groups; None: any kernel works."""
        return None

    def why_own_kernel(self) -> str:
        """Return a short text that tells the user what the kernel of this target does; empty if it has none."""
        return ""

    @property
    def _about(self) -> str:
        temper = "" if self.temper == 1 else f", temper={self.temper:g}"
        return f"{self.n_rows} rows, {self.dim} parameters, prior={self.prior!r}{temper}"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._about})"


def checked_temper(temper: float) -> float:
    """``temper`` multiplies every energy; it must be positive and finite."""
    return moderate_number("temper", temper)
