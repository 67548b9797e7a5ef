"""From choices to draws: one chain on its way, and all of them in threads."""

from __future__ import annotations

import time
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np

from ..chains.guard import check_energies, check_move, check_start, in_support, supported_start
from ..chains.kernel import ReadyKernel
from ..chains.loop import ChainSetup, ChainState, advance, advance_further, compile_parts, setup_of
from ..chains.state import PartOfDraw, RunState, no_part
from ..errors import NonFiniteEnergy, PassGivenUp
from ..process.blas import one_blas_thread
from ..process.interrupts import HeldInterrupts
from ..process.progress import Progress
from ..proposals import ReadyProposal
from ..results.tree import ChainResult
from ..rows.supply import NO_ROWS, open_stream
from ..targets.base import Target
from .clock import Clock
from .warmup import WINDOW, first_state, goals_of, steps_left, warm_up

_SECONDS_PER_CHUNK = 0.1
_MOST_GATHERED = 10_000  # steps of a chunk whose rows are gathered: as many are lost where a map is given up
_OF_ROWS_LEFT = 0.8  # so much of the rows in memory a chunk may need: to begin a chunk costs a millisecond
_MOVE_TRIES = 20


class Writer(Protocol):
    """The object to which one chain passes its draws if they are not kept in memory."""

    @property
    def due(self) -> bool:
        """Return True if it is time to write again."""

    def write(self, first: int, state: RunState, result: ChainResult, seconds: float) -> None:
        """Write draws from number ``first`` on, the state after them and the seconds they took."""


class Size(NamedTuple):
    """The length of a chain: kept draws, steps of warm-up, and steps for each kept draw."""

    draws: int
    tune: int
    thin: int = 1


class ChainRun:
    """One chain during a run. It is opened, which may read all rows, and then advanced in chunks.

    A chunk takes about a tenth of a second. Its length depends on the clock, but the draws do not. Everything on which
    the next step depends is in ``state``. The rest is what the run was asked to do, and what it has kept: all draws or,
    with a ``writer`` to a store, the latest draws from number ``first`` on, at most ``room`` of them. The chain stops
    at ``goal`` draws; this number can be raised later.
    """

    state: RunState
    writer: Writer | None = None

    def __init__(
        self,
        target: Target,
        kernel: ReadyKernel,
        seed: np.random.SeedSequence,
        number: int,
        point: np.ndarray | None,
        size: Size,
        room: int | None = None,
    ):
        self.target, self.seed, self.number, self.point = target, seed, number, point
        draws, tune, thin = size
        self.setup = setup_of(target, kernel, self._seeds[1])
        self.statistics = self.setup.statistics
        self.goals, self.opened, self.thin = goals_of(kernel, tune), False, thin
        self.total, self.goal, self.first = tune + draws * thin, draws, 0
        room = draws if room is None else room
        self.draws, self.record = np.empty((room, len(target.recorded))), self.setup.new_record(room)
        self.elapsed = np.empty(room)
        self._seconds, self._chunk, self._remark = 0.0, WINDOW, "warming up"
        self._rows_a_step = 0.0

    def write_to(self, writer: Writer, room: int) -> None:
        """Keep only ``room`` draws in memory, and pass them to the writer when the memory is full.

        Call it before the first draw.
        """
        self.writer = writer
        self.draws, self.record = np.empty((room, self.draws.shape[1])), self.setup.new_record(room)
        self.elapsed = np.empty(room)

    @cached_property
    def _seeds(self) -> list[np.random.SeedSequence]:
        """Of moves, rows and the start: spawned once, as another time they would be others."""
        return self.seed.spawn(3)

    def open(self) -> None:
        """Find a start and audit it: check all rows at one real move, or their energies if the test needs no bounds.

        If a chain is opened again, it begins again in the same way. Bounds that the library derived are the same for
        every chain, so only the first chain checks them.
        """
        compile_parts(self.setup)
        moves, rows, starts = self._seeds
        start, model, kernel = np.random.default_rng(starts), self.setup.model, self.setup.kernel
        here = (
            supported_start(self.target, model, start, self.number)
            if self.point is None
            else self.target.state_at(self.point)
        )
        check_start(here, model)
        with_bounds = [turn.proposal for turn in kernel.turns if turn.proposal and turn.supply is not NO_ROWS]
        if not with_bounds:
            check_energies(here, model, self.setup.pool)
        elif self.setup.pool is not None and not self.setup.pool.source.by_maps:
            pass  # piece by piece, when its rows were mapped
        elif self.number == 0 or self.point is not None or model.own_bounds:
            _check_a_move(here, with_bounds[0], self.setup, start)
        chain = ChainState(here, np.random.default_rng(moves), open_stream(rows, kernel.source), kernel.first_memory)
        self.state = first_state(self.setup, chain, start)
        self.first, self.opened = 0, True

    def resume(self, state: RunState, result: ChainResult, first: int = 0, seconds: float | None = None) -> None:
        """Continue from a saved state of a run with the same choices. This replaces `open`.

        ``result`` contains what the run had kept. Its draws are numbered from ``first`` on, and they took ``seconds``.
        """
        size = max(self.target.dim, self.draws.shape[1])  # a draw may have less than a state, or more than parameters
        fits = state.fits(self.setup, size, first + len(self.draws), self.thin)
        if not fits or len(result.draws) != state.kept - first:
            raise ValueError("the saved state belongs to a run of another target, test, proposal or size.")
        check_start(state.chain.here, self.setup.model)
        compile_parts(self.setup)
        self.state, self.first, self.opened = state, first, True
        at = self._at
        for mine, saved in zip((self.draws, self.record, self.elapsed), result, strict=False):
            mine[:at] = saved
        self._seconds = seconds if seconds is not None else float(self.elapsed[at - 1]) if at else 0.0
        self._begin_anew_if_full()

    @property
    def _at(self) -> int:
        """How many of the kept draws are here, in memory."""
        return self.kept - self.first

    @property
    def steps_done(self) -> int:
        return self.state.chain.steps if self.opened else 0

    @property
    def kept(self) -> int:
        return self.state.kept if self.opened else 0

    @property
    def finished(self) -> bool:
        return self.kept >= self.goal

    def compile(self) -> None:
        """Compile everything, or load it from the cache, by running loops of no steps."""
        warm_up(self.state, self.setup, self.goals, 0)
        self._advance(slice(0, 0), 1)

    def work(self) -> None:
        """Continue for about a tenth of a second: open the chain, warm up, or make draws."""
        with one_blas_thread():
            self._work()

    def _work(self) -> None:
        started = time.perf_counter()
        if not self.opened:
            self.open()
        while not self.finished and (left := started + _SECONDS_PER_CHUNK - time.perf_counter()) > 0:
            before = time.perf_counter()
            steps = self._go_on()
            seconds = max(time.perf_counter() - before, 1e-6)
            self._chunk = max(1, min(int(steps * left / seconds), 10 * steps))
        if self.writer is not None and self.writer.due:
            self.save()

    def _go_on(self) -> int:
        """Warm up or keep draws."""
        if self.setup.pool is not None:
            return self._go_on_with_gathered_rows()
        return self._warm_up() if steps_left(self.state, self.goals) else self._keep()

    def _go_on_with_gathered_rows(self) -> int:
        """Where rows do not come any more, since the run is ended, the chain stays where it was before the chunk.

        So that little is lost, chunks are short, and the shorter the nearer the chain is to the last row in memory.
        """
        pool, stream = self.setup.kernel.source.pool, self.state.chain.stream  # a test that draws none has no pool
        self._chunk = min(self._chunk, _MOST_GATHERED)
        drawn = 0
        if pool is not None:
            drawn, left = pool.rows_drawn(stream.ring, stream.cursor), pool.rows_left(stream.ring, stream.cursor)
            self._chunk = max(1, min(self._chunk, int(_OF_ROWS_LEFT * left / max(self._rows_a_step, 1e-3))))
        before = self.state.to_arrays()
        try:
            steps = self._warm_up() if steps_left(self.state, self.goals) else self._keep()
        except PassGivenUp:
            self.state = RunState.from_arrays(before)
            raise
        if pool is not None:
            self._rows_a_step = (pool.rows_drawn(stream.ring, stream.cursor) - drawn) / steps
        return steps

    def save(self) -> None:
        """Write the draws in memory, and the state after the last of them, to the store."""
        if self.writer is None or not self.opened:
            return
        if self._at > 0 or self.first == 0 or self.state.part.steps > 0:  # else the chunk before has it all
            self.writer.write(self.first, self.state, self.result(), self._seconds)

    def _begin_anew_if_full(self) -> None:
        """The draws in memory are a whole chunk of the store, and saved: their room is for the next ones."""
        if self.writer is not None and self._at == len(self.draws):
            self.first = self.kept

    def _warm_up(self) -> int:
        return warm_up(self.state, self.setup, self.goals, max(1, self._chunk // WINDOW))

    def _keep(self) -> int:
        """As many draws as fit into a chunk or, when a draw takes longer than that, some of its ``thin`` steps."""
        started = time.perf_counter()
        if self._chunk >= self.thin and self.state.part.steps == 0:
            steps = self._keep_draws(self._chunk // self.thin)
        else:
            steps = self._keep_part_of_a_draw()
        self._seconds += time.perf_counter() - started
        if self.writer is not None and self._at == len(self.draws):
            self.save()
            self._begin_anew_if_full()
        return steps

    def _keep_draws(self, most: int) -> int:
        chunk = slice(self._at, min(self._at + most, len(self.draws), self.goal - self.first))
        n = chunk.stop - chunk.start
        started = time.perf_counter()
        self._advance(chunk, self.thin)
        self.elapsed[chunk] = self._seconds + (time.perf_counter() - started) * np.arange(1, n + 1) / n
        self.state.kept += n
        return n * self.thin

    def _keep_part_of_a_draw(self) -> int:
        state, at = self.state, self._at
        steps = min(self._chunk, self.thin - state.part.steps)
        started = time.perf_counter()
        self.record[at] = state.part.record
        setup, here = state.in_force(self.setup), slice(at, at + 1)
        advance_further(state.chain, setup, self.draws[here], self.record[here], steps)
        state.part = PartOfDraw(state.part.steps + steps, self.record[at].copy())
        if state.part.steps == self.thin:
            self.statistics.average(self.record[at], self.thin)
            self.elapsed[at] = self._seconds + time.perf_counter() - started
            state.kept, state.part = state.kept + 1, no_part(self.setup)
        return steps

    def _advance(self, chunk: slice, thin: int) -> None:
        advance(self.state.chain, self.state.in_force(self.setup), self.draws[chunk], self.record[chunk], thin)

    def remark(self) -> str:
        """Return in words the acceptance rate and the rows per step of the newest draws, if they are known."""
        at = self._at if self.opened else 0
        if at > 0:
            recent, told = self.record[max(0, at - 1000) : at], []
            rates = self.statistics.of("acceptance_rate", recent)
            if rates is not None:
                told.append(f"acceptance {rates.mean():.2f}")
            if any(one.rows for one in self.statistics):
                told.append(f"{self.statistics.rows(recent).mean():,.0f} rows per step")
            self._remark = ", ".join(told) or "drawing"
        return self._remark

    def result(self) -> ChainResult:
        """Return what is in memory: all draws or, with a store, the latest ones."""
        kept = slice(0, self._at)
        knobs = self.state.proposal_knobs if self.opened else self.setup.kernel.first_proposal_knobs
        return ChainResult(self.draws[kept], self.record[kept], self.elapsed[kept], knobs[0])


def run_all(runs: list[ChainRun], cores: int, clock: Clock, progress: Progress, ctrl_c: HeldInterrupts) -> None:
    """Run all chains until the end, the time limit or Ctrl-C. The chain with the fewest steps is advanced first.

    If there is a store, everything is saved at the end.
    """
    total = sum(run.total for run in runs)
    waiting, busy = [run for run in runs if not run.finished], dict[Future, ChainRun]()
    started = clock.seconds

    def share() -> float:
        """Return the share of the run that is done: of the steps or, if this is larger, of the allowed time."""
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
                with suppress(PassGivenUp):  # what it has is kept, and a store goes on from there
                    future.result()
                if not run.finished:
                    waiting.append(run)
            if clock.over or ctrl_c.heard:
                _give_up_maps(runs)
            progress.update(share(), runs[0].remark())
    for run in runs:
        run.save()


def _give_up_maps(runs: list[ChainRun]) -> None:
    """Rows that chains wait for are not read any further."""
    for run in runs:
        if run.setup.pool is not None:
            run.setup.pool.source.given_up.set()


def _check_a_move(here: np.ndarray, proposal: ReadyProposal, setup: ChainSetup, rng: np.random.Generator) -> None:
    """Audit all rows at one real move: a bound that is plainly wrong shows even for rows that are never drawn."""
    model, pool, there = setup.model, setup.pool, np.empty_like(here)
    for _ in range(_MOVE_TRIES):
        proposal.propose(rng, here, there, proposal.knobs)
        if not np.array_equal(here, there) and in_support(there, model):
            break
    else:
        check_energies(here, model, pool)
        return
    if pool is not None and pool.source.audited:
        pool.source.gather_what_is_due()
        return  # block by block, when bounds were added up; the draws of `rng` are made as if it were done now
    try:
        check_move(here, there, model, step=0, pool=pool)
    except NonFiniteEnergy:
        check_energies(here, model, pool)  # says so if the initial state is to blame
        raise
