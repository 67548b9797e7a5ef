"""Have the chains converged? Rank-normalised split R-hat and bulk effective draws (Vehtari et al. 2021).

All parameters at once, in arrays of shape (parameter, chain, draw); the numbers are those of ``arviz_stats.rhat`` and
``arviz_stats.ess``. With ``z`` the normal scores of the ranks over all chains, each chain split in halves of n draws,

    R-hat = sqrt((n - 1) / n + var(means of z) / mean(variances of z)),

the larger of that for the draws and for their distances from the median, and

    ESS = total / tau,   tau = -1 + 2 sum of the autocorrelations, cut off by Geyer's initial monotone sequence.

In the tails: the smaller ESS of whether draws lie below their 5 % and below their 95 % quantile. A chain may go about
its middle quickly and hardly ever come to a heavy tail.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ..compiled import helper
from ..errors import Text

R_HAT_LIMIT = 1.01
ESS_PER_CHAIN = 100
_HIGHEST_LIMIT = 1.02
FEWEST_TO_JUDGE = 100  # draws per chain, below which R-hat is noise

_TAILS = 0.05, 0.95
_ENOUGH_DRAWS = 1000  # per chain, by which the worst parameters are found
_FEW_DRAWS = 16
_PIECE = 30  # draws
_ENOUGH_PARAMETERS = 50  # that are looked at closely
_SUSPECTS = 16  # of them by each coarse rule
_SLOWEST = 6  # by draws side by side, of which all draws are looked at
_MOST_VALUES = 400_000  # of the worst parameter alone
_MOST_NAMED = 6  # parameters in one sentence


def r_hat_limit(draws: int, chains: int, parameters: int) -> float:
    """Return the largest R-hat that is no sign of a failure: 1.01, or up to 1.02 for short runs.

    With few draws, a larger R-hat occurs by chance. With ``m`` halves of chains of ``n`` independent draws each,
    ``R-hat^2 = (n - 1) / n + F / n``, where ``F`` is a chi-square variable with ``m - 1`` degrees of freedom, divided
    by ``m - 1``. In one of a hundred runs, ``F`` exceeds the value that is used here, for any parameter, and for the
    draws or their distances from the median.
    """
    from scipy.special import chdtri

    halves, n = 2 * chains, max(1, draws // 2)
    largest = float(chdtri(halves - 1, 0.01 / (2 * max(1, parameters)))) / (halves - 1)
    return min(max(R_HAT_LIMIT, float(np.sqrt((n - 1 + largest) / n))), _HIGHEST_LIMIT)


class Convergence(NamedTuple):
    """The worst parameter by each rule of convergence, and how bad it is.

    ``stuck`` lists the chains that never moved, ``frozen`` the parameters that never moved in one of the other chains.
    """

    r_hat: float
    r_hat_of: int
    ess: float
    ess_of: int
    stuck: list[int]
    chains: int
    frozen: list[int]
    tail_ess: float = np.inf
    tail_ess_of: int = 0

    @property
    def worst(self) -> set[int]:
        """Return the numbers of the parameters that are worst by any rule."""
        return {self.r_hat_of, self.ess_of, self.tail_ess_of}

    def complaint(self, names: list[str], draws: int, cause: str = "") -> str | None:
        """Return a warning for the user, or None if there is none. ``cause`` is a sentence about the cause."""
        if self.stuck:
            which = f"chain{'s' * (len(self.stuck) > 1)} {', '.join(map(str, self.stuck))}"
            return (
                f"{which} (of {self.chains}, counted from 0) never moved: {draws:,} identical draws, because no "
                "proposal was accepted. They say nothing about the posterior. Use shorter steps (proposal=, or leave "
                "it to tunamh), a longer tune=, or other starts (init=)."
            )
        faults = []
        if self.frozen:
            named = ", ".join(names[j] for j in self.frozen[:_MOST_NAMED])
            more = len(self.frozen) - _MOST_NAMED
            named += f" and {more:,} more" if more > 0 else ""
            faults.append(f"{named} never moved ({draws:,} identical draws in at least one chain)")
        limit = r_hat_limit(draws, self.chains, len(names))
        if self.r_hat > limit and not self._is_frozen(self.r_hat_of):
            digits = 4 if self.r_hat - limit < 0.001 else 3 if self.r_hat < 1.1 else 2
            shown = f"{self.r_hat:.{digits}f}"
            faults.append(f"R-hat {shown} for {names[self.r_hat_of]} (the limit is {limit:.3g})")
        if self.ess < ESS_PER_CHAIN * self.chains and not self._is_frozen(self.ess_of):
            name = names[self.ess_of]
            faults.append(f"{self.ess:,.0f} effective draws of {name} ({ESS_PER_CHAIN} per chain are needed)")
        elif self.tail_ess < ESS_PER_CHAIN * self.chains:
            name, needed = names[self.tail_ess_of], f"{ESS_PER_CHAIN} per chain are needed"
            faults.append(f"{self.tail_ess:,.0f} effective draws in the tails of {name} ({needed})")
        if not faults:
            return None
        return Text.of(
            f"the chains have not converged: {'; '.join(faults)}. Run longer (",
            ("draws=, thin=); tunamh.summary(posterior) shows the parameters.", "--draws)."),
            cause,
        )

    def _is_frozen(self, j: int) -> bool:
        return j in self.frozen


def judge(draws: np.ndarray) -> Convergence | None:
    """Return the worst R-hat and the smallest number of effective draws, or None if there are too few draws.

    ``draws`` has the shape (chain, draw, parameter). The cost is bounded. The worst parameters are found from a
    thousand draws per chain, evenly spaced, and a thousand consecutive draws. With more than 50 parameters, only those
    are compared that look worst by the means of half chains, the means of short batches, or the distances between
    neighbours. Then the numbers are computed from all draws of the parameters found, or from four hundred thousand of
    them, evenly spaced.
    """
    chains, n, d = draws.shape
    if n < FEWEST_TO_JUDGE:
        return None
    constant = _constant(draws)
    stuck = constant.all(axis=1)
    frozen = np.flatnonzero(constant[~stuck].any(axis=0))
    looks = Looks(lambda rows, which: draws[:, rows, which], n, d)
    tail = _worst_tail(draws, looks)
    return Convergence(*_worst_of(looks, chains), np.flatnonzero(stuck).tolist(), chains, frozen.tolist(), *tail)


def _constant(draws: np.ndarray) -> np.ndarray:
    """Which parameters (chain, parameter) never moved; those that are seen to move in a few draws are not looked at."""
    first, n = draws[:, :1], draws.shape[1]
    found = (draws[:, :: max(1, n // _FEW_DRAWS)] == first).all(axis=1)
    still = np.flatnonzero(found.any(axis=0))
    found[:, still] = (draws[:, :, still] == first[:, :, still]).all(axis=1)
    return found


Take = Callable[[slice, Any], np.ndarray]
"""Some draws of some parameters, in the shape (chain, draw, parameter)."""


def worst_of(take: Take, chains: int, n: int, d: int) -> tuple[float, int, float, int]:
    """Return the worst R-hat and its parameter, and the fewest effective draws and their parameter, as `judge` does.

    The draws themselves may be elsewhere. ``take`` is called at most three times: for some draws of all parameters,
    evenly spaced and consecutive, and for many draws of a few parameters.
    """
    return _worst_of(Looks(take, n, d), chains)


class Look(NamedTuple):
    """The draws (parameter, chain, draw) of the parameters ``which`` that look worst."""

    which: np.ndarray
    values: np.ndarray


class Looks:
    """Some draws of a run. They are read once, and everything that is asked about them is computed then."""

    def __init__(self, take: Take, n: int, d: int):
        self.take, self.n, self.d = take, n, d

    @cached_property
    def apart(self) -> Look:
        """Return evenly spaced draws."""
        return self._look(slice(0, self.n, max(1, self.n // _ENOUGH_DRAWS)))

    @cached_property
    def near(self) -> Look:
        """Return consecutive draws from the middle of each chain."""
        first = (self.n - _ENOUGH_DRAWS) // 2
        return self._look(slice(first, first + _ENOUGH_DRAWS))

    def _look(self, rows: slice) -> Look:
        draws = self.take(rows, slice(None))
        which = np.arange(self.d) if self.d <= _ENOUGH_PARAMETERS else _suspects(draws)
        return Look(which, np.ascontiguousarray(draws[:, :, which].transpose(2, 0, 1)))


def _worst_of(looks: Looks, chains: int) -> tuple[float, int, float, int]:
    n, (chosen, values) = looks.n, looks.apart
    found, effective = diagnose(values)
    if values.shape[2] == n:
        worst, least = int(found.argmax()), int(effective.argmin())
        return float(found[worst]), int(chosen[worst]), float(effective[least]), int(chosen[least])
    slow, near = looks.near  # draws far apart are independent: they do not tell who mixes slowly
    slowest = slow[diagnose(near)[1].argsort()[:_SLOWEST]]
    few = np.unique([chosen[found.argmax()], chosen[effective.argmin()], *slowest])
    many = looks.take(slice(0, n, max(1, chains * n // _MOST_VALUES)), few)
    found, effective = diagnose(np.ascontiguousarray(many.transpose(2, 0, 1)))
    worst, least = int(found.argmax()), int(effective.argmin())
    return float(found[worst]), int(few[worst]), float(effective[least]), int(few[least])


def _worst_tail(draws: np.ndarray, looks: Looks) -> tuple[float, int]:
    """The fewest effective draws in the tails and whose they are, found as `worst_of` finds the others."""
    chains, n, _ = draws.shape
    seen = [looks.apart, looks.near] if n >= 2 * _ENOUGH_DRAWS else [looks.apart]
    few = sorted({int(which[in_the_tails(values).argmin()]) for which, values in seen})
    kept = in_the_tails(draws[:, :: max(1, chains * n // _MOST_VALUES), few].transpose(2, 0, 1))
    return float(kept.min()), few[int(kept.argmin())]


def in_the_tails(values: np.ndarray) -> np.ndarray:
    """Return the effective draws in the tails of every parameter.

    ``values`` has the shape (parameter, chain, draw).
    """
    half = values.shape[2] // 2
    halves = np.concatenate([values[:, :, :half], values[:, :, values.shape[2] - half :]], axis=1)
    ends = np.quantile(values, _TAILS, axis=(1, 2))
    return np.min([effective_draws((halves <= end[:, None, None]).astype(np.float64)) for end in ends], axis=0)


def diagnose(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return R-hat and effective draws of every parameter. ``values`` has the shape (parameter, chain, draw).

    If a parameter never moved, its R-hat is infinite and it has no effective draw, even if all chains agree.
    """
    d, _, n = values.shape
    half = n // 2
    halves = np.concatenate([values[:, :, :half], values[:, :, n - half :]], axis=1)
    flat = halves.reshape(d, -1)
    order = np.argsort(flat, axis=1)
    distances, their_order = np.empty_like(flat), np.empty_like(order)
    _fold(flat, order, distances, their_order)
    scores, folded = (_normal_scores(*pair).reshape(halves.shape) for pair in ((flat, order), (distances, their_order)))
    r_hat = np.maximum(_split_r_hat(scores), _split_r_hat(folded))
    frozen = (values == values[:, :, :1]).all(axis=(1, 2))
    return np.where(frozen, np.inf, r_hat), np.where(frozen, 0.0, effective_draws(scores))


@helper
def _fold(values, order, distances, their_order):
    """Distances from the median of each row, and their order.

    That order merges the values below the median, read backwards, with those above: no second sort.
    """
    size = values.shape[1]
    for j in range(values.shape[0]):
        below, above = size // 2 - 1, size // 2
        middle = 0.5 * (values[j, order[j, below]] + values[j, order[j, above]])
        for k in range(size):
            distances[j, k] = abs(values[j, k] - middle)
        for k in range(size):
            if above == size or (below >= 0 and distances[j, order[j, below]] <= distances[j, order[j, above]]):
                their_order[j, k] = order[j, below]
                below -= 1
            else:
                their_order[j, k] = order[j, above]
                above += 1


def _normal_scores(values: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Blom's normal scores of the ranks in each row, ties sharing their mean rank.

    Twice a mean rank is an integer, so the scores come from a table.
    """
    from scipy.special import ndtri

    size = values.shape[1]
    by_rank = ndtri((0.5 * np.arange(2, 2 * size + 1) - 0.375) / (size + 0.25))
    scores = np.empty_like(values)
    _look_up(values, order, by_rank, scores)
    return scores


@helper
def _look_up(values, order, by_rank, scores):
    """``scores = by_rank[first + last]``, the two ends of each run of equal values in the order of the row."""
    size = values.shape[1]
    for j in range(values.shape[0]):
        first = 0
        while first < size:
            last = first
            while last + 1 < size and values[j, order[j, last + 1]] == values[j, order[j, first]]:
                last += 1
            twice_the_rank = first + last
            for k in range(first, last + 1):
                scores[j, order[j, k]] = by_rank[twice_the_rank]
            first = last + 1


def _split_r_hat(scores: np.ndarray) -> np.ndarray:
    n = scores.shape[2]
    between = scores.mean(axis=2).var(axis=1, ddof=1)
    within = scores.var(axis=2, ddof=1).mean(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        r_hat = np.sqrt((between / within) + (n - 1) / n)
    return np.where(between > 0, r_hat, 1.0)


def effective_draws(scores: np.ndarray) -> np.ndarray:
    """Return effective draws by Geyer's initial monotone sequence over pairs of lags (2k, 2k + 1)."""
    d, chains, n = scores.shape
    centred = scores - scores.mean(axis=2, keepdims=True)
    spectrum = np.fft.rfft(centred, n=1 << (2 * n - 1).bit_length(), axis=2)
    power = (spectrum.real**2 + spectrum.imag**2).mean(axis=1)
    covariance = np.fft.irfft(power, axis=1)[:, :n] / n
    within = covariance[:, :1] * n / (n - 1)
    total = within * (n - 1) / n + scores.mean(axis=2).var(axis=1, ddof=1)[:, None]
    with np.errstate(invalid="ignore", divide="ignore"):
        correlation = 1.0 - (within - covariance) / total
    correlation[:, 0] = 1.0
    pairs = (n - 1) // 2
    even = correlation[:, 0 : 2 * pairs : 2]
    sums = even + correlation[:, 1 : 2 * pairs : 2]
    stops = ~(sums > 0)
    stops[:, -1] = True
    stop = stops.argmax(axis=1)
    falling = np.minimum.accumulate(sums, axis=1)
    before = np.where(np.arange(pairs) < stop[:, None], falling, 0.0).sum(axis=1)
    rows = np.arange(d)
    at_stop, sum_at_stop = even[rows, stop], sums[rows, stop]
    last = np.where((at_stop > 0) | (sum_at_stop >= 0), at_stop, 0.0)
    tau = np.maximum(-1.0 + 2.0 * before + last, 1.0 / np.log10(chains * n))
    return chains * n / tau


def _suspects(draws: np.ndarray) -> np.ndarray:
    """The parameters that look worst by three cheap rules; ``draws`` has the shape (chain, draw, parameter).

    Means of pieces of the chains vary much where these drift or stay apart. The sums are made piece by piece, so that
    temporaries stay in the cache: there may be a hundred thousand parameters.
    """
    chains, n, d = draws.shape
    pieces, origin = max(2, n // _PIECE), draws[0, 0]
    length, half = n // pieces, n // 2
    means, halves, squares, steps = np.empty((chains, pieces, d)), np.empty((chains, 2, d)), np.zeros(d), np.zeros(d)
    total, last = np.zeros(d), origin
    for c, chain in enumerate(draws):
        for k in range(pieces):
            own = chain[k * length : n if k == pieces - 1 else (k + 1) * length] - origin
            means[c, k] = own[:length].mean(axis=0)
            total += own.sum(axis=0)
            squares += _squares(own)
            steps += _squares(np.diff(own, axis=0))
            if k > 0:
                steps += np.square(own[0] - last)
            last = own[-1].copy()
        halves[c] = chain[:half].mean(axis=0), chain[half : 2 * half].mean(axis=0)
    spread = squares / (chains * n) - np.square(total / (chains * n)) + 1e-300
    between = [size * parts.reshape(-1, d).var(axis=0) / spread for size, parts in ((half, halves), (length, means))]
    rules = [*between, -steps / (chains * (n - 1)) / spread]
    return np.unique([np.argsort(rule)[-_SUSPECTS:] for rule in rules])


def _squares(values: np.ndarray) -> np.ndarray:
    """Their sums over draws."""
    return np.einsum("ij,ij->j", values, values)
