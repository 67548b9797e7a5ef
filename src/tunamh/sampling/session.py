"""One session of a run: set up, open the chains or go on with them, run them, collect."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, nullcontext
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from .._arguments import shown
from ..acceptance.base import AcceptanceTest
from ..capabilities import Deciding, offers
from ..chains.kernel import Kernel
from ..errors import NoDraws, PassGivenUp
from ..process.blas import one_blas_thread
from ..process.interrupts import HeldInterrupts
from ..process.progress import Progress
from ..process.stages import Report, announce, watching
from ..results.layout import layout_of, refuse_unwritable
from ..results.observed import add_observed
from ..results.tree import ChainResult, add_summaries, import_what_the_end_needs, refuse_statistics
from ..rows.supply import NO_ROWS
from ..store import Store
from ..targets.base import Target
from .choice import choose
from .clock import Clock, SetUp
from .compilation import compile_together, compile_while_setting_up
from .completion import assemble_result, attempt, warn
from .destination import ExistingStore, NewStore, RunPlan, Sampler, catch_up
from .laplace_measure import Walked, laplace_attributes, seeds_of_measure
from .run import ChainRun, run_all


class Choices(NamedTuple):
    """What the user says about how to sample. None means that `sample` chooses."""

    target: Target
    test: AcceptanceTest | None
    proposal: Any
    control: Callable[[Target], Target] | None
    kernel: Kernel | None = None

    def checked(self) -> Choices:
        asked: tuple[Any, ...] = self
        target, test, proposal, control, kernel = asked
        if isinstance(target, str):
            raise TypeError(
                f"target must be a model, got a text, {shown(target)}. Make a model of a formula and a table, and pass "
                "it: tunamh.sample(tunamh.regression(formula, data))."
            )
        if not isinstance(target, Target):
            raise TypeError(f"target must be a tunamh target such as LogisticRegression(X, y), got {shown(target)}.")
        if test is not None and (isinstance(test, type | Kernel) or not offers(test, Deciding)):
            raise TypeError(f"test must be an acceptance test such as TunaMH() or MH(), got {shown(test)}.")
        if control is not None and (not callable(control) or isinstance(control, type)):
            raise TypeError(f"control must be a control variate such as Taylor(order=2), got {shown(control)}.")
        if kernel is not None and not isinstance(kernel, Kernel):
            raise TypeError(f"kernel must be a kernel such as MetropolisHastings(RandomWalk()), got {shown(kernel)}.")
        if kernel is not None and not (test is None and proposal is None):
            raise TypeError("kernel= replaces test= and proposal=: pass kernel=MetropolisHastings(proposal, test).")
        refuse_unwritable(layout_of(target, target.variables))
        return self

    def sampler(self) -> Sampler:
        """Choose what the user left open, and compile and bind all parts."""
        target, kernel, why = choose(*self, frames=3)
        prepared = kernel.prepare(target)
        ready = kernel.bind(prepared)
        refuse_statistics(ready.all_statistics)
        return Sampler(self.target, prepared, kernel, ready, why, repr(target))


def run_session(
    choices: Choices,
    plan: RunPlan,
    place: NewStore | ExistingStore,
    cores: int | None,
    max_seconds: float | None,
    progressbar: bool,
) -> Any:
    """Run the session that `sample` and `resume` start after they have checked their arguments."""
    target, threads = choices.target, min(plan.chains, cores or os.cpu_count() or 1)
    target.check_data()
    import_what_the_end_needs()
    clock = Clock(max_seconds)
    with ExitStack() as stack, one_blas_thread(), Progress("set-up", show=progressbar) as progress:
        place.check_early(target, stack)
        compile_while_setting_up(target)
        with watching(set_up := SetUp(target.n_rows, clock, progress)):
            sampler = choices.sampler()
            if sampler.target.gathered is not None:
                stack.callback(sampler.target.gathered.end)
            runs = _opened(sampler, plan, progress, in_memory=isinstance(place, NewStore) and place.path is None)
            settings = {**_settings(sampler, plan), "set_up": set_up.cost}
            store = place.begin(sampler, plan, settings, runs[0], stack)
        set_up_seconds = clock.seconds
        progress.restart(f"{plan.chains} chain{'s' * (plan.chains > 1)}")
        with HeldInterrupts() as ctrl_c:  # from here on nothing may take the draws
            if store is not None:
                catch_up(store, runs, clock, progress, ctrl_c)
            enough = _run(runs, plan, store, partial(run_all, runs, threads, clock, progress, ctrl_c))
            seconds, results = clock.seconds, _results(runs, store, enough)
            kept = min(len(result.draws) for result in results)
            if kept == 0:
                raise _no_draws(ctrl_c.heard, max_seconds, store)
            reason = "interrupted" if ctrl_c.heard else "max_seconds"
            finished = kept == (enough or plan.draws)
            settings["stopped"] = ("finished" if enough is None else "until") if finished else reason
            settings["seconds"] = _seconds(set_up_seconds, seconds, clock.compiling)
            if sampler.target.gathered is not None:
                settings["rows_gathered"] = sampler.target.gathered.gathered
            settings["knobs"] = [run.state.knobs[:8].tolist() for run in runs if run.opened]
            told = f"{kept:,} of {plan.draws:,} draws per chain are returned"
            if settings["stopped"] == "max_seconds":
                progress.say(f"max_seconds={max_seconds:g} ran out: {told}")
            with _within(clock, ctrl_c, sampler.target.gathered):
                posterior, complaints = _assembled(sampler, plan, results, settings, seconds, progress)
            if all(run.opened for run in runs):
                memories = [run.state.chain.memory for run in runs]
                add = partial(
                    add_summaries, posterior, sampler.user_target, sampler.target, sampler.kernel.summaries, memories
                )
                complaints += attempt("the group effects could not be summarised", add)
            add_responses = partial(_add_responses, posterior, sampler.user_target)
            complaints += attempt("the group observed_data could not be added", add_responses)
            if settings["stopped"] == "interrupted":
                complaints.insert(0, UserWarning(f"interrupted: {told}"))
            if settings["stopped"] == "finished" and plan.until is not None:
                told = f"{plan.until} is not reached after draws={plan.draws}, the maximum: allow more draws"
                complaints.append(UserWarning(told))
            for complaint in complaints:
                warn(complaint, posterior)
    return posterior


def _add_responses(posterior: Any, given: Target) -> None:
    add_observed(posterior, given.seen_responses)


def _within(clock: Clock, ctrl_c: HeldInterrupts, gathered: Any) -> AbstractContextManager[Any]:
    """What is read after the last draw of rows that are not in memory ends with the time, or by Ctrl-C."""

    def refuse(report: Report) -> None:
        if clock.over or ctrl_c.heard:
            gathered.given_up.set()
            raise PassGivenUp("the run was stopped while rows were read.")

    return nullcontext() if gathered is None else watching(refuse)


def _opened(sampler: Sampler, plan: RunPlan, progress: Progress, in_memory: bool) -> list[ChainRun]:
    """The chains; the first is opened, and everything compiled."""
    gathered = sampler.target.gathered
    if gathered is not None:
        gathered.expect(plan.chains)
    runs = [
        ChainRun(sampler.target, sampler.ready, child, number, point, plan.size, room=None if in_memory else 0)
        for number, (child, point) in enumerate(zip(plan.seed.spawn(plan.chains), plan.points, strict=True))
    ]
    for line in (*sampler.user_target.remarks(), sampler.why):
        progress.say(line)
    announce("loading compiled code (first use compiles it)")
    compile_together(runs[0].setup, progress)
    if gathered is not None and sampler.ready.source is not NO_ROWS:
        announce("gathering the first rows that chains will draw")
        gathered.begin(seeds_of_measure(plan.seed)[1])
    runs[0].open()
    runs[0].compile()
    return runs


def _settings(sampler: Sampler, plan: RunPlan) -> dict[str, Any]:
    until = {} if plan.until is None else {"until": repr(plan.until)}
    return {
        "target": sampler.about,
        **sampler.named,
        "why": sampler.why,
        "seed": str(plan.seed.entropy),
        "draws": plan.draws,
        "tune": plan.tune,
        "thin": plan.thin,
        "rows": sampler.target.n_rows,
        "data_rows": sampler.user_target.data_rows,
        "total_bound": sampler.target.total_bound,
        "data": sampler.target.fingerprint,
        "model": sampler.user_target.description,
        **until,
    }


def _seconds(set_up: float, all_of_it: float, compiling: float) -> dict[str, float]:
    """Wall time of a session by its stages; compiling counts in neither of the others."""
    found = {"compiling": compiling, "set-up": set_up, "warm-up and draws": all_of_it - set_up}
    return {stage: round(seconds, 4) for stage, seconds in found.items()}


def _run(runs: list[ChainRun], plan: RunPlan, store: Store | None, go_on: Callable[[], None]) -> int | None:
    """To the end, or to where ``plan.until`` holds: how many draws per chain that took, None if it did not."""
    until, d = plan.until, len(runs[0].target.reported)
    for n in [plan.draws] if until is None else until.looks(plan.draws):
        for run in runs:
            run.goal = n
        go_on()
        if not all(run.kept >= n for run in runs):
            return None
        take = partial(_taken, runs) if store is None else store.take
        if until is not None and until.holds(take, len(runs), n, d):
            return n
    return None


def _taken(runs: list[ChainRun], rows: slice, which: Any) -> np.ndarray:
    """Some draws, from memory."""
    return np.stack([run.target.to_user(run.draws[rows])[:, which] for run in runs])


def _results(runs: list[ChainRun], store: Store | None, enough: int | None) -> list[ChainResult]:
    if store is not None:
        return [store.result(run.number, enough)[0] for run in runs]
    return [run.result() for run in runs]


def _no_draws(interrupted: bool, max_seconds: float | None, store: Store | None) -> BaseException:
    later = (
        ""
        if store is None or not store.is_there
        else f"; tunamh.resume({str(store.path)!r}, target) continues from here"
    )
    if interrupted:
        return KeyboardInterrupt(f"interrupted before every chain had a draw{later}")
    hint = later or "; allow more time or less tune"
    return NoDraws(f"max_seconds={max_seconds:g} ran out before every chain had a draw{hint}")


def _assembled(
    sampler: Sampler,
    plan: RunPlan,
    results: list[ChainResult],
    settings: dict[str, Any],
    seconds: float,
    progress: Progress,
) -> tuple[Any, list[Warning]]:
    target, layout = sampler.target, sampler.layout
    walked = Walked([result.draws for result in results], [result.record for result in results], plan.thin)
    from_laplace = partial(laplace_attributes, target, sampler.kernel, sampler.ready, walked, plan.seed, layout.names)
    about = {"exact": sampler.kernel.exact, "statistics": sampler.ready.all_statistics, "settings": settings}
    return assemble_result(results, target, layout, about, from_laplace, seconds, progress)
