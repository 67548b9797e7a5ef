"""What a first run compiles, in several processes at the same time (`tunamh.compiled.ahead`)."""

from __future__ import annotations

from ..acceptance import thinned
from ..chains.loop import ChainSetup, parts_of, run_alone, run_chain
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


def compile_while_setting_up() -> None:
    """Begin with what most runs need, in further processes, while this one looks at the data."""
    if not run_chain.is_kept:
        ahead.start(_of_most_runs())


def compile_together(setup: ChainSetup, progress: Progress) -> None:
    """Compile what a run needs, here and in further processes, and tell how many functions are left."""
    parts = [*parts_of(setup), windows_of(len(setup.kernel.turns))]
    left = ahead.missing(parts)
    if left:
        progress.say(f"compiling {len(left)} functions, which the first use after an installation or update does")
        progress.restart("compiling")
        ahead.start(left)
    ahead.finish(parts, lambda n: progress.update(1 - n / len(left), f"{n} functions are left"))
    if left:
        progress.restart("set-up")
