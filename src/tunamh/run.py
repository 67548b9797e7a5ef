"""From choices to draws: one chain on its way, and all of them in threads."""

from __future__ import annotations

import time
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

import numpy as np

from ._blas import one_blas_thread
from ._compile import seconds_compiling
from ._interrupts import HeldInterrupts
from .acceptance.base import ReadyTest
from .chain import RATE, ROWS, ChainState, Kernel, advance, compile_parts, new_record
from .data.passes import Report
from .data.stream import open_stream
from .data.supply import NO_ROWS
from .errors import NoDraws, NonFiniteEnergy
from .guard import check_energies, check_move, check_start, in_support, new_work, supported_start
from .progress import Progress
from .proposals import ReadyProposal
from .results import ChainResult
from .state import NO_PART, RunState
from .targets.base import Target
from .warmup import WINDOW, first_state, goals_of, steps_left, warm_up

_SECONDS_PER_CHUNK = 0.1
_MOVE_TRIES = 20
_PASSES_OF_A_SET_UP = 8.0


class Clock:
    """Seconds since it was made, compiling not counted, and whether the time that a user allows is over."""

    def __init__(self, max_seconds: float | None):
        self.limit = np.inf if max_seconds is None else max_seconds
        self._started, self._compiled = time.monotonic(), seconds_compiling()

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._started - (seconds_compiling() - self._compiled)

    @property
    def over(self) -> bool:
        return self.seconds >= self.limit


class SetUp:
    """Watches the passes of a set-up: shows them, and ends them when the time is over.

    About eight passes over all rows are expected; from the sixth on, two more than there have been.
    """

    def __init__(self, n_rows: int, clock: Clock, progress: Progress):
        self.n_rows, self.clock, self.progress = max(n_rows, 1), clock, progress

    def __call__(self, report: Report) -> None:
        if self.clock.over:
            doing = f" ({report.stage})" if report.stage else ""
            raise NoDraws(
                f"max_seconds={self.clock.limit:g} ran out during set-up{doing}, in pass {report.passes} over the "
                "rows, before the first draw; allow more time"
            )
        done = report.rows / self.n_rows
        stage = f"{report.stage}, " if report.stage else ""
        self.progress.update(
            done / max(_PASSES_OF_A_SET_UP, done + 2.0), f"{stage}pass {report.passes}, {report.share:.0%}"
        )


class ChainRun:
    """One chain on its way: opened (which may read all rows), then advanced in chunks of about a tenth of a second.

    How long a chunk is depends on the clock, what it computes does not. All that the next step depends on lies in
    ``state``; the rest is what the run was told, and what it has kept.
    """

    state: RunState

    def __init__(
        self,
        target: Target,
        test: ReadyTest,
        proposal: ReadyProposal,
        seed: np.random.SeedSequence,
        number: int,
        point: np.ndarray | None,
        draws: int,
        tune: int,
        thin: int,
    ):
        self.kernel = Kernel(target.model(), proposal, test, new_work())
        self.target, self.seed, self.number, self.point = target, seed, number, point
        self.goals, self.opened, self.thin = goals_of(proposal, tune), False, thin
        self.total = tune + draws * thin
        self.draws, self.record = np.empty((draws, len(target.recorded))), new_record(draws)
        self.elapsed = np.empty(draws)
        self._seconds, self._chunk = 0.0, WINDOW

    def open(self) -> None:
        """Find a start and audit it: all rows at one real move, or their energies for a test without bounds.

        Bounds that the library derived are the same for every chain: the first one's audit speaks for all.
        """
        compile_parts(self.kernel)
        moves, rows, starts = self.seed.spawn(3)
        start, model = np.random.default_rng(starts), self.kernel.model
        here = (
            supported_start(self.target, model, start, self.number)
            if self.point is None
            else self.target.state_at(self.point)
        )
        check_start(here, model)
        if self.kernel.test.supply is not NO_ROWS:
            if self.number == 0 or self.point is not None or model.own_bounds:
                _check_a_move(here, self.kernel, start)
        else:
            check_energies(here, model)
        chain = ChainState(here, np.random.default_rng(moves), open_stream(rows), self.kernel.test.memory.copy())
        self.state = first_state(self.kernel, chain, start)
        self.opened = True

    def resume(self, state: RunState, result: ChainResult) -> None:
        """In the place of `open`: go on from a saved state of a run of the same choices, and from what it had kept."""
        draws, dim = self.draws.shape
        if not state.fits(self.kernel, dim, draws, self.thin) or len(result.draws) != state.kept:
            raise ValueError("the saved state belongs to a run of another target, test, proposal or size.")
        compile_parts(self.kernel)
        self.state, self.opened = state, True
        for mine, saved in zip((self.draws, self.record, self.elapsed), result, strict=False):
            mine[: state.kept] = saved
        self._seconds = float(self.elapsed[state.kept - 1]) if state.kept else 0.0

    @property
    def steps_done(self) -> int:
        return self.state.chain.steps if self.opened else 0

    @property
    def kept(self) -> int:
        return self.state.kept if self.opened else 0

    @property
    def finished(self) -> bool:
        return self.kept == len(self.draws)

    def compile(self) -> None:
        """Run no step at all: everything is then compiled, or loaded from the cache."""
        warm_up(self.state, self.kernel, self.goals, 0)
        self._advance(slice(0, 0), 1)

    def work(self) -> None:
        """Go on for about a tenth of a second: open the chain, warm up, keep draws."""
        with one_blas_thread():
            self._work()

    def _work(self) -> None:
        started = time.perf_counter()
        if not self.opened:
            self.open()
        while not self.finished and (left := started + _SECONDS_PER_CHUNK - time.perf_counter()) > 0:
            before = time.perf_counter()
            steps = self._warm_up() if steps_left(self.state, self.goals) else self._keep()
            seconds = max(time.perf_counter() - before, 1e-6)
            self._chunk = max(1, min(int(steps * left / seconds), 10 * steps))

    def _warm_up(self) -> int:
        return warm_up(self.state, self.kernel, self.goals, max(1, self._chunk // WINDOW))

    def _keep(self) -> int:
        """As many draws as fit into a chunk or, when a draw takes longer than that, some of its ``thin`` steps."""
        started = time.perf_counter()
        if self._chunk >= self.thin and self.state.part.steps == 0:
            steps = self._keep_draws(self._chunk // self.thin)
        else:
            steps = self._keep_part_of_a_draw()
        self._seconds += time.perf_counter() - started
        return steps

    def _keep_draws(self, most: int) -> int:
        chunk = slice(self.kept, min(self.kept + most, len(self.draws)))
        n = chunk.stop - chunk.start
        started = time.perf_counter()
        self._advance(chunk, self.thin)
        self.elapsed[chunk] = self._seconds + (time.perf_counter() - started) * np.arange(1, n + 1) / n
        self.state.kept = chunk.stop
        return n * self.thin

    def _keep_part_of_a_draw(self) -> int:
        state = self.state
        steps = min(self._chunk, self.thin - state.part.steps)
        started = time.perf_counter()
        self._advance(slice(state.kept, state.kept + 1), steps)
        state.part = state.part.joined(self.record[state.kept], steps)
        if state.part.steps == self.thin:
            self.record[state.kept] = state.part.record
            self.elapsed[state.kept] = self._seconds + time.perf_counter() - started
            state.kept, state.part = state.kept + 1, NO_PART
        return steps

    def _advance(self, chunk: slice, thin: int) -> None:
        advance(self.state.chain, self.state.in_force(self.kernel), self.draws[chunk], self.record[chunk], thin)

    def remark(self) -> str:
        """Acceptance and rows per step over the newest draws."""
        if self.kept == 0:
            return "warming up"
        recent = self.record[max(0, self.kept - 1000) : self.kept]
        return f"acceptance {recent[:, RATE].mean():.2f}, {recent[:, ROWS].mean():,.0f} rows per step"

    def result(self) -> ChainResult:
        kept = slice(0, self.kept)
        return ChainResult(self.draws[kept], self.record[kept], self.elapsed[kept], self.state.proposal_knobs[0])


def run_all(runs: list[ChainRun], cores: int, clock: Clock, progress: Progress, ctrl_c: HeldInterrupts) -> None:
    """Advance the least advanced chains first, so that chains stay level, until the end, the time limit or Ctrl-C."""
    total = sum(run.total for run in runs)
    waiting, busy = list(runs), dict[Future, ChainRun]()
    started = clock.seconds

    def share() -> float:
        """Of the steps or, if less of that is left, of the time."""
        steps = sum(run.steps_done for run in runs) / total
        return min(1.0, max(steps, (clock.seconds - started) / max(clock.limit - started, 1e-9)))

    with ThreadPoolExecutor(cores) as pool:
        while waiting or busy:
            waiting.sort(key=lambda run: run.steps_done)
            while waiting and len(busy) < cores and not clock.over and not ctrl_c.heard:
                run = waiting.pop(0)
                busy[pool.submit(run.work)] = run
            if not busy:
                break
            for future in wait(busy, timeout=_SECONDS_PER_CHUNK, return_when=FIRST_COMPLETED).done:
                run = busy.pop(future)
                future.result()
                if not run.finished:
                    waiting.append(run)
            progress.update(share(), runs[0].remark())


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
