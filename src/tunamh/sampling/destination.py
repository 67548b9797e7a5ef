"""Where the draws of a session go: into memory, into a new store, or behind what a store has already."""

from __future__ import annotations

import hashlib
import secrets
from contextlib import ExitStack
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .._version import DRAWS
from ..chains.gibbs_scales import GibbsScales
from ..chains.in_turn import InTurn
from ..chains.kernel import Kernel, ReadyKernel
from ..chains.metropolis import MetropolisHastings
from ..process.interrupts import HeldInterrupts
from ..process.progress import Progress
from ..results.layout import Layout, layout_of
from ..results.until import Until
from ..store import Header, Store, StoreError, first_steps, refuse_another
from ..store.chunks import Chunk
from ..store.folder import chunk_draws_for
from ..store.header import seed_as_dict
from ..store.identity import described, identity_of
from ..targets.base import Target
from .clock import Clock
from .run import ChainRun, Size, run_all


class RunPlan(NamedTuple):
    """How many draws a session makes, and from which seed."""

    draws: int
    tune: int
    chains: int
    thin: int
    seed: np.random.SeedSequence
    points: list[np.ndarray | None]
    until: Until | None

    @property
    def size(self) -> Size:
        return Size(self.draws, self.tune, self.thin)


class Sampler(NamedTuple):
    """A user's target, the target that is sampled in its place, and the kernel that samples it."""

    user_target: Target
    target: Target
    kernel: Kernel
    ready: ReadyKernel
    why: str
    about: str  # how the target describes itself, before the kernel prepared it

    @property
    def named(self) -> dict[str, str]:
        """Return the kernel in words: its test and proposal, or the kernel itself if it is not of this kind."""
        if isinstance(self.kernel, MetropolisHastings):
            return {"test": repr(self.kernel.test), "proposal": repr(self.kernel.proposal)}
        return {"kernel": repr(self.kernel)}

    @property
    def layout(self) -> Layout:
        """Return the variables of the result."""
        return layout_of(self.user_target, self.target.variables)

    def identity(self, run: ChainRun) -> dict[str, str]:
        """Return what must be the same when a run is continued. ``run`` is its first chain, which was just opened."""
        steps = first_steps(run.state, run.setup)
        return identity_of(self.user_target, _all_data(self.user_target), self.about, self.named, steps)


def _all_data(target: Target) -> str:
    """The target's fingerprint; of those that look at some rows only, with a hash of all of them."""
    known = target.fingerprint
    if target.fingerprint_of_all_rows:
        return known
    return f"{known}-{hashlib.blake2b(np.ascontiguousarray(target.rows).data, digest_size=8).hexdigest()}"


class NewStore:
    """A folder for a new store. With ``path=None`` there is no folder, and draws are kept in memory."""

    def __init__(self, path: Path | None):
        self.path = path

    def check_early(self, target: Target, stack: ExitStack) -> None:
        """Do before a long set-up what may fail, and take what must be held until the session ends, such as a lock."""

    def begin(
        self, sampler: Sampler, plan: RunPlan, settings: dict[str, Any], run: ChainRun, stack: ExitStack
    ) -> Store | None:
        """Return the store with its header written, or None.

        It is called after set-up, when the first chain is open.
        """
        if self.path is None:
            return None
        layout, walked = sampler.layout, run.draws.shape[1]
        bytes_of_state = sum(array.nbytes for array in run.state.to_arrays().values())
        header = Header(
            run=secrets.token_hex(16),
            draws=plan.draws,
            tune=plan.tune,
            thin=plan.thin,
            chains=plan.chains,
            seed=seed_as_dict(plan.seed, plan.chains),
            points=[None if point is None else point.tolist() for point in plan.points],
            until=None if plan.until is None else asdict(plan.until),
            chunk_draws=chunk_draws_for(walked + layout.size + run.record.shape[1] + 1, bytes_of_state),
            columns=[walked, layout.size],
            variables=layout.to_json(),
            exact=sampler.kernel.exact,
            extra=None,
            statistics=[[one.name, one.over_steps.name, one.rows, one.shown] for one in sampler.ready.all_statistics],
            settings=settings,
            identity=sampler.identity(run),
        )
        store = Store.create(self.path, header)
        stack.enter_context(store.lock())
        return store


class ExistingStore:
    """A folder with a run that is to be continued."""

    def __init__(self, store: Store):
        self.store = store

    def check_early(self, target: Target, stack: ExitStack) -> None:
        stack.enter_context(self.store.lock())
        known = {"draws": DRAWS, "target as given": described(target), "data": _all_data(target)}
        refuse_another(self.store.path, self.store.header.identity, known)

    def begin(
        self, sampler: Sampler, plan: RunPlan, settings: dict[str, Any], run: ChainRun, stack: ExitStack
    ) -> Store:
        store, header = self.store, self.store.header
        refuse_another(store.path, _with_kernel(header.identity, sampler.kernel), sampler.identity(run))
        until = None if plan.until is None else asdict(plan.until)
        store.change(replace(header, draws=plan.draws, until=until))
        store.tidy()
        return store


def _with_kernel(then: dict[str, str], kernel: Kernel) -> dict[str, str]:
    """What a header of before kernels had names of their own would say today: they were a test and a proposal then."""
    if "kernel" in then or isinstance(kernel, MetropolisHastings):
        return then
    test, proposal = then.get("test"), then.get("proposal")
    same = test == described(kernel) and proposal in ("LaplaceByGroups()", "Momentum()")
    if isinstance(kernel, InTurn) and kernel.kernels[:-1] == (GibbsScales(),):
        last = kernel.kernels[-1]
        same = isinstance(last, MetropolisHastings) and (test, proposal) == (
            described(last.test),
            described(last.proposal),
        )
    return {**then, "kernel": described(kernel) if same else f"{test} with {proposal}"}


def catch_up(store: Store, runs: list[ChainRun], clock: Clock, progress: Progress, ctrl_c: HeldInterrupts) -> None:
    """Bring every chain to the point where the store has it. Missing chunks in between are drawn again first."""
    for run in runs:
        run.write_to(store.writer(run.number, run.target.to_user), store.header.chunk_draws)
        goal = run.goal
        missing, last = store.survey(run.number)
        for before, stop in missing:
            progress.say(f"chain {run.number}: draws before number {stop:,} are missing in the store and drawn again")
            _go_on(run, before, store)
            run.goal = stop
            run_all([run], 1, clock, progress, ctrl_c)
            if not run.finished:
                return
        run.goal = goal
        if last is not None:
            _go_on(run, last, store)


def _go_on(run: ChainRun, chunk: Chunk | None, store: Store) -> None:
    if chunk is None:
        run.opened = False  # it is opened as it goes on, where Ctrl-C is heard
        return
    try:
        run.resume(chunk.state, chunk.result, chunk.first, chunk.seconds)
    except ValueError as error:
        raise StoreError(
            f"chain {run.number} of the run in {store.path} cannot continue from draw {chunk.stop:,}: {error} Move "
            "the last file of the chain away; tunamh then makes its draws again, from the file before it.",
            store.path,
        ) from error
