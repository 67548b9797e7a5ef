"""The front door: check, warm up, run the chains in threads, collect."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Any, NamedTuple

import numpy as np

from ._arguments import flag, numbers, positive_number, seed_sequence, shown, whole_number
from .acceptance.base import AcceptanceTest, BoundTest
from .chain import RATE, REACH, ROWS, ChainState, Kernel, advance, compile_parts, join_records
from .choose import choose
from .data.stream import open_stream
from .errors import ChainsDisagree, NoDraws, NonFiniteEnergy
from .guard import check_energies, check_move, check_start, in_support, new_work, supported_start
from .progress import Progress
from .proposals import BoundProposal
from .results import ChainResult, to_datatree, worst_r_hat
from .targets.base import Target
from .warmup import WarmUp, first_kernel

_SECONDS_PER_CHUNK = 0.1
_MOVE_TRIES = 20
_FEWEST_TO_JUDGE = 100  # draws per chain, below which R-hat is noise
_DISAGREEMENT = 1.1


def sample(
    target: Target,
    *,
    test: AcceptanceTest | None = None,
    proposal: Any = None,
    control: Callable[[Target], Target] | None = None,
    draws: int = 1000,
    tune: int = 1000,
    chains: int = 4,
    cores: int | None = None,
    rng: Any = None,
    thin: int = 1,
    init: Any = None,
    max_seconds: float | None = None,
    progressbar: bool = True,
) -> Any:
    """Draw from the posterior of ``target``.

    Numbers that you give are never adapted; those left None are tuned in warm-up and frozen before the first kept draw.

    Parameters
    ----------
    target : Target
        `LogisticRegression`, `RobustRegression`, `GaussianMixture`, `FiniteWalk`, `EnergyTarget`, ...
    test : acceptance test, optional
        `TunaMH`, `MHSS`, `FactorizedMH`, `MH`, `PoissonMH`, `FlyMC`; docs/choose.md says which.
    proposal : optional
        `RandomWalk`, `Autoregressive` for regressions and other Taylor targets, `NeighbourWalk` for finite ones, or
        your own ``@numba.njit`` function.
    control : optional
        A control variate such as `Taylor`: maps the target to one with the same posterior and smaller bounds. With none
        of the three named, all are chosen for the target; else what is left out is `TunaMH`, `RandomWalk` and none.
    draws : int
        Kept draws per chain.
    tune : int
        Warm-up steps per chain, not kept. With 0 every step from ``init`` is kept.
    chains, cores : int
        Chains, and threads that run them (default: as many as the machine has). Draws do not depend on ``cores``.
    rng : seed, SeedSequence or Generator, optional
    thin : int
        Steps per kept draw. ``acceptance_rate`` and ``batch_size`` are then means over these steps, ``accepted`` and
        ``full_data_step`` tell whether any of them was, ``bound_ratio`` is their maximum.
    init : (d,) or (chains, d), optional
        Initial states. By default each chain starts from the target's overdispersed law: the Laplace law of its own
        random subsample for regressions, wider than the Laplace law with a control variate, uniform on the box or the
        states, standard normal for an `EnergyTarget`.
    max_seconds : float, optional
        Stop after this time, warm-up included, and return what exists.
    progressbar : bool

    Returns
    -------
    xarray.DataTree
        Groups ``posterior`` (variable ``theta``: chain, draw, parameter) and ``sample_stats``. After Ctrl-C or
        ``max_seconds`` all chains are cut to the shortest; ``stopped`` in the settings attribute tells which it was.

    Examples
    --------
    >>> posterior = tunamh.sample(tunamh.LogisticRegression(X, y), draws=2000, rng=1)
    >>> arviz_stats.summary(posterior)
    """
    if not isinstance(target, Target):
        raise TypeError(f"target must be a tunamh target such as LogisticRegression(X, y), got {shown(target)}.")
    draws, tune = whole_number("draws", draws, 1), whole_number("tune", tune, 0)
    chains, thin = whole_number("chains", chains, 1), whole_number("thin", thin, 1)
    cores = None if cores is None else whole_number("cores", cores, 1)
    max_seconds = None if max_seconds is None else positive_number("max_seconds", max_seconds, infinite=True)
    progressbar, seed = flag("progressbar", progressbar), seed_sequence("rng", rng)
    points = _initial_points(init, chains, target.dim)
    if control is not None and (not callable(control) or isinstance(control, type)):
        raise TypeError(f"control must be a control variate such as Taylor(order=2), got {shown(control)}.")
    target.check_data()
    choice = choose(target, None if test is None else _checked_test(test), proposal, control)
    target, test, proposal, why = choice
    described = repr(target)
    for part in (test, proposal):
        if hasattr(part, "prepare"):
            target = part.prepare(target)
    bound_test, bound_proposal = test.bind(target), proposal.bind(target)
    runs = [
        _ChainRun(target, bound_test, bound_proposal, child, point, draws, tune, thin)
        for child, point in zip(seed.spawn(chains), points, strict=True)
    ]
    chosen = f"{test!r}, {proposal!r}: {why}"
    interrupted = _run_all(runs, min(chains, cores or os.cpu_count() or 1), max_seconds, progressbar, chosen)
    if min(run.kept for run in runs) == 0:
        if interrupted:
            raise KeyboardInterrupt("interrupted before every chain had a draw")
        raise NoDraws(
            f"max_seconds={max_seconds:g} ran out before every chain had a draw; allow more time or less tune"
        )
    settings = {
        "target": described,
        "test": repr(test),
        "proposal": repr(proposal),
        "why": why,
        "knobs": [run.kernel.test.knobs[:8].tolist() for run in runs],
        "seed": str(seed.entropy),
        "draws": draws,
        "tune": tune,
        "thin": thin,
        "rows": target.n_rows,
        "total_bound": target.total_bound,
        "data": target.fingerprint,
        "stopped": "interrupted" if interrupted else "finished" if all(run.finished for run in runs) else "max_seconds",
    }
    if interrupted:
        kept = min(run.kept for run in runs)
        warnings.warn(f"interrupted: {kept:,} of {draws:,} draws per chain are returned", stacklevel=2)
    results = [run.result() for run in runs]
    _warn_of_disagreement(results, target.names)
    return to_datatree(results, target.names, exact=test.exact, extra=bound_test.reports, settings=settings)


class _PartOfDraw(NamedTuple):
    """Some of the ``thin`` steps that lead to one kept draw, and their record."""

    steps: int = 0
    record: Any = 0.0

    def joined(self, record: np.ndarray, steps: int) -> _PartOfDraw:
        if self.steps == 0:
            return _PartOfDraw(steps, record.copy())
        return _PartOfDraw(self.steps + steps, join_records(self.record, self.steps, record, steps))


class _ChainRun:
    """One chain on its way: opened (which may read all rows), then advanced in chunks of about a tenth of a second.

    How long a chunk is depends on the clock, what it computes does not.
    """

    state: ChainState
    warmup: WarmUp

    def __init__(
        self,
        target: Target,
        test: BoundTest,
        proposal: BoundProposal,
        seed: np.random.SeedSequence,
        point: np.ndarray | None,
        draws: int,
        tune: int,
        thin: int,
    ):
        self.kernel = Kernel(target.model(), proposal, test, new_work())
        self.target, self.seed, self.point, self.tune = target, seed, point, tune
        self.opened, self.thin, self.kept = False, thin, 0
        self.total = tune + draws * thin
        self.draws, self.record = np.empty((draws, target.dim)), np.empty((draws, REACH + 1))
        self.elapsed = np.empty(draws)
        self._seconds, self._chunk, self._part = 0.0, 1, _PartOfDraw()

    def open(self) -> None:
        """Find a start and audit it: all rows at one real move, or their energies for a test without bounds."""
        compile_parts(self.kernel)
        moves, rows, starts = self.seed.spawn(3)
        start, model = np.random.default_rng(starts), self.kernel.model
        here = supported_start(self.target, model, start) if self.point is None else self.target.state_at(self.point)
        check_start(here, model)
        if self.kernel.test.table.size:
            _check_a_move(here, self.kernel, start)
        else:
            check_energies(here, model)
        self.state = ChainState(here, np.random.default_rng(moves), open_stream(rows), self.kernel.test.memory.copy())
        self.warmup = WarmUp(first_kernel(self.kernel, here, start), self.tune)
        self.kernel = self.warmup.frozen()
        self.opened = True

    @property
    def steps_done(self) -> int:
        return self.state.steps if self.opened else 0

    @property
    def finished(self) -> bool:
        return self.kept == len(self.draws)

    def compile(self) -> None:
        """Run no step at all: everything is then compiled, or loaded from the cache."""
        advance(self.state, self.kernel, self.draws[:0], self.record[:0])

    def work(self) -> None:
        """Open the chain, or one chunk of warm-up or of kept draws."""
        if not self.opened:
            self.open()
        elif self.warmup.done < self.warmup.steps:
            self._warm_up()
        else:
            self._keep()

    def _warm_up(self) -> None:
        deadline = time.perf_counter() + _SECONDS_PER_CHUNK
        while self.warmup.done < self.warmup.steps and time.perf_counter() < deadline:
            self.warmup.advance(self.state)
        self.kernel = self.warmup.frozen()

    def _keep(self) -> None:
        """As many draws as fit into a chunk or, when a draw takes longer than that, some of its ``thin`` steps."""
        started = time.perf_counter()
        if self._chunk >= self.thin and self._part.steps == 0:
            steps = self._keep_draws(self._chunk // self.thin)
        else:
            steps = self._keep_part_of_a_draw()
        seconds = time.perf_counter() - started
        self._seconds += seconds
        self._chunk = max(1, min(int(steps * _SECONDS_PER_CHUNK / max(seconds, 1e-6)), 10 * steps))

    def _keep_draws(self, most: int) -> int:
        chunk = slice(self.kept, min(self.kept + most, len(self.draws)))
        n = chunk.stop - chunk.start
        started = time.perf_counter()
        advance(self.state, self.kernel, self.draws[chunk], self.record[chunk], self.thin)
        self.elapsed[chunk] = self._seconds + (time.perf_counter() - started) * np.arange(1, n + 1) / n
        self.kept = chunk.stop
        return n * self.thin

    def _keep_part_of_a_draw(self) -> int:
        steps = min(self._chunk, self.thin - self._part.steps)
        row = slice(self.kept, self.kept + 1)
        started = time.perf_counter()
        advance(self.state, self.kernel, self.draws[row], self.record[row], steps)
        self._part = self._part.joined(self.record[self.kept], steps)
        if self._part.steps == self.thin:
            self.record[self.kept] = self._part.record
            self.elapsed[self.kept] = self._seconds + time.perf_counter() - started
            self.kept += 1
            self._part = _PartOfDraw()
        return steps

    def remark(self) -> str:
        """Acceptance and rows per step over the newest draws."""
        if self.kept == 0:
            return "warming up"
        recent = self.record[max(0, self.kept - 1000) : self.kept]
        return f"acceptance {recent[:, RATE].mean():.2f}, {recent[:, ROWS].mean():,.0f} rows per step"

    def result(self) -> ChainResult:
        kept = slice(0, self.kept)
        return ChainResult(self.draws[kept], self.record[kept], self.elapsed[kept], self.kernel.proposal.knobs[0])


def _run_all(runs: list[_ChainRun], cores: int, max_seconds: float | None, progressbar: bool, chosen: str) -> bool:
    """Advance the least advanced chains first, so that chains stay level; returns whether Ctrl-C ended it."""
    total = sum(run.total for run in runs)
    waiting, busy = list(runs), dict[Future, _ChainRun]()
    title = f"{len(runs)} chain{'s' * (len(runs) > 1)}"
    with Progress(title, show=progressbar) as progress, ThreadPoolExecutor(cores) as pool:
        progress.say(chosen)
        progress.update(0.0, "loading compiled code (first use compiles it)")
        runs[0].open()
        runs[0].compile()
        started = time.monotonic()  # compiling counts neither towards max_seconds nor in the estimate of what is left
        progress.restart()
        limit = np.inf if max_seconds is None else max_seconds
        try:
            while waiting or busy:
                waiting.sort(key=lambda run: run.steps_done)
                while waiting and len(busy) < cores and time.monotonic() - started < limit:
                    run = waiting.pop(0)
                    busy[pool.submit(run.work)] = run
                if not busy:
                    break
                for future in wait(busy, timeout=_SECONDS_PER_CHUNK, return_when=FIRST_COMPLETED).done:
                    run = busy.pop(future)
                    future.result()
                    if not run.finished:
                        waiting.append(run)
                steps = sum(run.steps_done for run in runs)
                progress.update(min(1.0, max(steps / total, (time.monotonic() - started) / limit)), runs[0].remark())
        except KeyboardInterrupt:
            for future in busy:
                future.result()  # the chunks under way are finished, and an error in one of them is still an error
            return True
    return False


def _warn_of_disagreement(results: list[ChainResult], names: list[str]) -> None:
    n = min(len(result.draws) for result in results)
    if n < _FEWEST_TO_JUDGE:
        return
    r_hat, worst = worst_r_hat(np.stack([result.draws[:n] for result in results]))
    if r_hat > _DISAGREEMENT:
        warnings.warn(
            f"the chains disagree (R-hat {r_hat:.2f} for {names[worst]}): these draws do not stand for the posterior "
            "yet. Run longer (draws=, thin=, tune=); tunamh.summary(posterior) shows all parameters.",
            ChainsDisagree,
            stacklevel=3,
        )


def _checked_test(test: Any) -> AcceptanceTest:
    if isinstance(test, type) or not (hasattr(test, "bind") and hasattr(test, "exact")):
        raise TypeError(f"test must be an acceptance test such as TunaMH() or MH(), got {shown(test)}.")
    return test


def _check_a_move(here: np.ndarray, kernel: Kernel, rng: np.random.Generator) -> None:
    """Audit all rows at one real move: a bound that is plainly wrong shows even for rows that are never drawn."""
    model, there = kernel.model, np.empty_like(here)
    for _ in range(_MOVE_TRIES):
        kernel.proposal.propose(rng, here, there, kernel.proposal.knobs)
        if not np.array_equal(here, there) and in_support(there, model):
            break
    else:
        check_energies(here, model)
        return
    try:
        check_move(here, there, model, step=0)
    except NonFiniteEnergy:
        check_energies(here, model)  # says so if the initial state is to blame
        raise


def _initial_points(init: Any, chains: int, dim: int) -> list[np.ndarray | None]:
    if init is None:
        return [None] * chains
    points = numbers("init", init)
    if points.shape not in ((dim,), (chains, dim)):
        raise ValueError(
            f"init must have shape ({dim},), one number per parameter, or ({chains}, {dim}), one row per chain, "
            f"got {points.shape}."
        )
    return [point.copy() for point in np.broadcast_to(points, (chains, dim))]
