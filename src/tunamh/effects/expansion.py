"""Averages of many rows at every draw, from one pass: a linear part of all rows, and the rest of a sample of them.

    F(theta) = sum_i w_i h_i(theta) = F(m) + F'(m)(theta - m) + sum_i w_i r_i(theta),      m the posterior mean

One pass over the rows computes ``F(m)`` and ``F'(m)``, and draws a sample of rows (`tunamh.effects.sampled_rows`). The
remainders ``r_i`` are computed for the rows of the sample, at every draw. They are of second order, so that their sum
is small beside the posterior standard deviation of ``F`` if rows are many, and the sample needs to be known roughly
only. The estimate has no bias at any draw. Its error is estimated by a jackknife over groups of sampled rows, after
whatever is made of the averages (differences, ratios). Where it exceeds a hundredth of the posterior standard
deviation, a second pass draws a larger sample; where that would not be enough, all rows are evaluated.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..process.stages import announce
from ..rows.passes import with_progress
from ..tables.frames import Frame
from .averages import Question, Values, averaged, refuse_no_weight, refuse_too_many
from .gradient import Gradient
from .local import Centre, LocalCoordinates
from .outcomes import Outcomes
from .rows import AskedRows, Key
from .sampled_rows import FIRST_SAMPLE, Reservoir, Sample
from .settings import changed

MANY_ROWS = 30_000
LARGEST_ERROR = 0.01  # in posterior standard deviations
_JACKKNIFE = 20
_LARGEST_SHARE = 0.2  # of the rows; of more, all are evaluated
_ROWS = 8192


class Found(NamedTuple):
    """Averages that were computed: lines (draws, keys, outcomes), the keys, and the estimated error.

    ``error`` is a number of posterior standard deviations; it is None if all rows were evaluated.
    """

    lines: Values
    keys: list[Key]
    error: float | None
    sampled: int = 0


def expanded(question: Question, outcomes: Outcomes, rows: AskedRows, rng: np.random.Generator) -> Found:
    """Return lines whose estimated error is small.

    The function evaluates all rows at every draw if that is necessary.
    """
    times = 1.0
    while times * FIRST_SAMPLE <= _LARGEST_SHARE * rows.n_rows:
        found = _OnePass(question, outcomes, rows, rng, times).found()
        assert found.error is not None
        if found.error <= LARGEST_ERROR:
            return found
        times = 1.2 * times * (found.error / (0.8 * LARGEST_ERROR)) ** 2
    lines, keys = averaged(question, outcomes, rows)
    return Found(lines, keys, None)


def may_be_expanded(question: Question, outcomes: Outcomes, rows: AskedRows) -> bool:
    """Return True if averages can be computed from a linear part and a sample of rows.

    The linear part needs a gradient. The gradient contains group effects only in the main predictor, so if another
    predictor has group effects, all rows must be evaluated.
    """
    if any(one.parameter is not None for one in outcomes.fitted.groups):
        return False
    return rows.n_rows > MANY_ROWS and question.linear and outcomes.groups != "draw"


class _OnePass:
    def __init__(self, question: Question, outcomes: Outcomes, rows: AskedRows, rng: np.random.Generator, times: float):
        self.question, self.outcomes, self.rows = question, outcomes, rows
        self.centre, self.coordinates = Centre(outcomes), LocalCoordinates(outcomes)
        self.reservoir = Reservoir(rng, times)
        self.place: dict[Key, int] = {}
        self.weights = np.zeros(0)
        self.gradient = Gradient(self.coordinates, self.centre, len(question.points) * question.measures_of_a_point)

    def found(self) -> Found:
        announce("averaging over all rows")
        for block, part in self.rows.parts(_ROWS):
            for key in block.keys:
                self.place.setdefault(key, len(self.place))
            places = np.array([self.place[key] for key in block.keys])
            refuse_too_many(
                len(self.place) * self.question.n_lines * self.outcomes.size, len(self.outcomes.fitted.picked)
            )
            self._add(part.rows, part.weights, places[part.codes])
        refuse_no_weight(self.weights)
        announce("looking at a sample of rows")
        sample = self.reservoir.sample()
        linear = self.gradient.at_draws() / self.weights[:, None, None]
        lines, error = self._lines(linear, sample)
        return Found(lines, list(self.place), error, len(sample.codes))

    def _factors(self, rows: Frame) -> list[list[np.ndarray]]:
        """Of each measure, what each setting's value is multiplied by, (rows): `Question.linear`."""
        n, count = rows.n_rows, len(self.question.settings)
        zero, one = np.zeros((1, n, 1)), np.ones((1, n, 1))
        alone = [self.question.of_rows([one if s == t else zero for t in range(count)], rows) for s in range(count)]
        return [[np.broadcast_to(own[m][0, :, 0], n) for own in alone] for m in range(len(alone[0]))]

    def _add(self, rows: Frame, weights: np.ndarray, codes: np.ndarray) -> None:
        keys = len(self.place)
        self.weights = np.append(self.weights, np.zeros(keys - len(self.weights)))
        self.weights += np.bincount(codes, weights, minlength=keys)
        spread = np.zeros(rows.n_rows)
        measure = 0
        for point in self.question.points:
            here = changed(rows, point)
            local = [self.centre.expand(changed(here, setting)) for setting in self.question.settings]
            for factors in self._factors(here):
                for factor, own in zip(factors, local, strict=True):
                    if factor.any():
                        self.gradient.add(measure, own, weights * factor, codes, keys)
                measure += 1
            spread = np.maximum(spread, np.max([own.spread for own in local], axis=0))
        some = weights > 0
        sizes = weights * (spread + 0.1 * max(float(spread.mean()), 1e-300))
        which = np.flatnonzero(some)
        self.reservoir.add(rows.take(which), codes[some], sizes[some], weights[some], keys)

    # ------------------------------------------------------------------------------------------------- the sample

    def _lines(self, linear: np.ndarray, sample: Sample) -> tuple[Values, float]:
        """``linear`` is (measures, keys, draws, outcomes)."""
        groups = self._remainders(sample) / self.weights[:, None, None]  # (1 + jackknife, measures, keys, ...)
        certain, drawn = groups[0], groups[1:]
        whole = self._made(linear + certain + drawn.sum(axis=0))
        scale = _JACKKNIFE / (_JACKKNIFE - 1)
        squares = [np.zeros(own.shape) for own in whole]
        for k in range(_JACKKNIFE):
            without = self._made(linear + certain + scale * (drawn.sum(axis=0) - drawn[k]))
            for own, other, line in zip(squares, without, whole, strict=True):
                own += np.square(other - line) / scale
        error = 0.0
        for own, line in zip(squares, whole, strict=True):
            sd = line.std(axis=0)
            typical = np.sqrt(own.mean(axis=0))
            tiny = 1e-12 * np.abs(line).max(axis=0)
            with np.errstate(invalid="ignore", divide="ignore"):
                share = np.where(typical > tiny, typical / sd, 0.0)
            error = max(error, float(np.nanmax(share)))
        return whole, error

    def _made(self, measures: np.ndarray) -> Values:
        """Lines (draws, keys, outcomes) of measures (measures, keys, draws, outcomes)."""
        return self.question.lines([own.transpose(1, 0, 2) for own in measures])

    def _remainders(self, sample: Sample) -> np.ndarray:
        """Sums of remainders over the rows that were sure to be drawn, and over groups of the others."""
        from scipy.sparse import csr_array

        keys, draws = len(self.place), len(self.outcomes.fitted.picked)
        measures = len(self.question.points) * self.question.measures_of_a_point
        group = np.where(sample.certain, 0, 1 + np.arange(len(sample.codes)) % _JACKKNIFE)
        found = np.zeros((measures, (1 + _JACKKNIFE) * keys, draws * self.outcomes.size))
        size = max(1, self.question.rows_at_once(self.outcomes) // 2)
        firsts = ((first + size, first) for first in range(0, sample.rows.n_rows, size))
        for first in with_progress(firsts, sample.rows.n_rows, "looking at a sample of rows"):
            which = slice(first, first + size)
            rows, count = sample.rows.take(which), sample.weights[which] * sample.counts[which]
            n, at = rows.n_rows, group[which] * keys + sample.codes[which]
            spread = csr_array((count, (at, np.arange(n))), shape=(found.shape[1], n))
            for measure, values in enumerate(self._remainders_of(rows)):
                found[measure] += spread @ values.transpose(1, 0, 2).reshape(n, -1)
        shape = measures, 1 + _JACKKNIFE, keys, draws, self.outcomes.size
        return found.reshape(shape).transpose(1, 0, 2, 3, 4)

    def _remainders_of(self, rows: Frame) -> Values:
        """Of every measure: (draws, rows, outcomes)."""
        found: Values = []
        for point in self.question.points:
            here = changed(rows, point)
            settings = (changed(here, setting) for setting in self.question.settings)
            rest = [self.centre.expand(one).remainder(self.coordinates) for one in settings]
            found += self.question.of_rows(rest, here)
        return found
