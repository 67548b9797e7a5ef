"""What a first run compiles, in several processes at the same time (`tunamh.compiled.ahead`)."""

from __future__ import annotations

from typing import Any

from ..acceptance import thinned
from ..chains.loop import ChainSetup, loop_in_turn, parts_of, run_alone, run_chain
from ..compiled import Part, ahead
from ..process.progress import Progress
from ..proposals import autoregressive
from ..rows import supply
from .warmup import windows_of


def _of_most_runs() -> list[Part]:
    """Parts that nearly every run needs, whatever set-up finds; those that take longest to compile are first."""
    return [
        *thinned.OF_MOST_RUNS,
        *autoregressive.OF_MOST_RUNS,
        run_chain,
        run_alone,
        windows_of(1),
        *supply.OF_MOST_RUNS,
    ]


def _of_most_runs_of(target: Any) -> list[Part]:
    """The same of a target, which may have a kernel of its own."""
    own = target.own_kernel()
    return _of_most_runs() if own is None else [*own.parts_ahead(), loop_in_turn(1), windows_of(1)]


def compile_while_setting_up(target: Any) -> None:
    """Start to compile, in further processes, what most runs of this target need.

    This process reads the data meanwhile.
    """
    parts = _of_most_runs_of(target)
    if not parts[0].is_kept:
        ahead.start(parts)


def compile_together(setup: ChainSetup, progress: Progress) -> None:
    """Compile what a run needs, in this and further processes, and show how many functions are left."""
    parts = [*parts_of(setup), windows_of(len(setup.kernel.turns))]
    left = ahead.missing(parts)
    if left:
        progress.say(f"compiling {len(left)} functions, as in every first use after an installation or update")
        progress.restart("compiling")
        ahead.start(left)
    ahead.finish(parts, lambda n: progress.update(1 - n / len(left), f"{n} functions remain"))
    if left:
        progress.restart("set-up")
