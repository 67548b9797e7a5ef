"""``tunamh compile``: compile what the first calls need, before they are made, for images and installers."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
import warnings
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any

import numpy as np
import typer

from ..compiled.instructions import instruction_sets
from .app import Refused, command
from .names import FAMILIES, family_named

COMMON = ("logistic", "gaussian", "poisson", "student-t", "negative-binomial")
"""Families of default: those of most first calls."""

_WITH_GROUPS = "groups"
_ROWS = 600

_WORKER = "import sys; from tunamh.cli.compile import run; run(*sys.argv[1:])"


@command
def compile(
    families: Annotated[
        list[str] | None,
        typer.Argument(help=f"Some of {FAMILIES}, and '{_WITH_GROUPS}' for group effects. Default: common ones."),
    ] = None,
    into: Annotated[
        Path | None, typer.Option(help="Also copy the compiled code to this folder, for a wheel (docs/releasing.md).")
    ] = None,
    processes: Annotated[int | None, typer.Option(help="Processes at the same time; by default one per core.")] = None,
) -> None:
    """Compile code now, so that the first run starts at once.

    The command fits small models, several at the same time. Code that is compiled already is loaded.

    Example:

        tunamh compile logistic groups
    """
    from ..compiled.ahead import usable_cores
    from ..compiled.cache import folder

    wanted = list(families or (*COMMON, _WITH_GROUPS))
    groups = _WITH_GROUPS in wanted
    words = [word for word in wanted if word != _WITH_GROUPS] or ["logistic"]
    for word in words:
        family_named(word)  # a wrong name is refused before anything is compiled
    if folder() is None:
        raise Refused("no folder for compiled code can be written to: set NUMBA_CACHE_DIR to a folder.")
    tasks = [(word, kind) for kind in ((_WITH_GROUPS, "plain") if groups else ("plain",)) for word in words]
    began = time.perf_counter()
    with ThreadPoolExecutor(processes or usable_cores()) as pool:
        for left, (task, seconds) in zip(range(len(tasks) - 1, -1, -1), pool.map(_timed, tasks), strict=True):
            print(f"{_told(task)}: {seconds:.0f} s; {left} left", flush=True)
        if into is not None:
            into.mkdir(parents=True, exist_ok=True)
            print("the same for every instruction set that this processor has", flush=True)
            files = {file for found in pool.map(_files, tasks) for file in found}
            for file in files:
                shutil.copy2(file, into)
            size = sum(file.stat().st_size for file in files) / 1e6
            print(f"{len(files)} files, {size:.0f} MB, are in {into}")
    print(f"compiled code is in {folder()}, made in {time.perf_counter() - began:.0f} s")


def _told(task: tuple[str, str]) -> str:
    word, kind = task
    return f"{word} with group effects" if kind == _WITH_GROUPS else word


def _timed(task: tuple[str, str]) -> tuple[tuple[str, str], float]:
    began = time.perf_counter()
    _output(*task)
    return task, time.perf_counter() - began


def _files(task: tuple[str, str]) -> list[Path]:
    """Compiled code that a second run loads, of every instruction set: what it was made of on the way is not needed."""
    found = []
    for name, features in instruction_sets().items():
        for_set = {"NUMBA_CPU_NAME": name, "NUMBA_CPU_FEATURES": features}
        _output(*task, for_set)
        found += [Path(line) for line in _output(*task, for_set).splitlines()]
    return found


def _output(word: str, kind: str, more: Mapping[str, str] = MappingProxyType({})) -> str:
    """What `run` prints, in a process of its own, with ``more`` in its environment."""
    path = os.pathsep.join([str(Path(__file__).parents[2]), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [sys.executable, "-c", _WORKER, word, kind],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": path, **more},
    )
    if done.returncode:
        raise Refused(f"{word} could not be compiled: {done.stderr.strip().splitlines()[-1]}")
    return done.stdout


# ------------------------------------------------------------------------------------------------------ small models


def run(word: str, kind: str) -> None:
    """Fit small models of a family, as a first call does. Print the files of compiled code that were loaded."""
    from .. import regression, sample, summary
    from ..compiled.cache import loaded
    from ..results.convergence import FEWEST_TO_JUDGE

    warnings.simplefilter("ignore")
    table = _table(word)
    right = "a + b + (1 | g)" if kind == _WITH_GROUPS else "a + b + c"
    fit: dict[str, Any] = {"draws": FEWEST_TO_JUDGE, "tune": 50, "chains": 2, "rng": 1, "progressbar": False}
    tree = sample(regression(f"y ~ {right}", table, family=family_named(word)), **fit)
    summary(tree)
    if kind != _WITH_GROUPS:
        _by_arrays(word, table, fit)
    print(*loaded(), sep="\n")


def _by_arrays(word: str, table: dict[str, np.ndarray], fit: dict[str, Any]) -> None:
    """Few columns under a flat prior, and more than are summed up column by column."""
    from .. import GLM, Flat, Normal, sample

    rng = np.random.default_rng(2)
    for columns, prior in ((3, Flat()), (30, Normal(scale=2.0))):
        X = rng.standard_normal((_ROWS, columns))
        sample(GLM(X, table["y"], family_named(word), prior=prior), **fit)


def _table(word: str) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(1)
    a, b, u = rng.standard_normal(_ROWS), rng.standard_normal(_ROWS), rng.random(_ROWS)
    responses = {
        "labels": (u < 1 / (1 + np.exp(-a))).astype(float),
        "reals": a + rng.standard_t(4, _ROWS),
        "counts": rng.poisson(np.exp(0.3 * a) * rng.gamma(3, 1 / 3, _ROWS) * (u < 0.8)).astype(float),
        "positive": np.exp(0.5 * a + 0.5 * rng.standard_normal(_ROWS)),
        "proportions": rng.beta(2 * np.exp(0.3 * a), 2.0),
        "classes": rng.integers(3, size=_ROWS).astype(float),
    }
    kind = family_named(word).responses.name.lower()
    return {
        "y": responses[kind],
        "a": a,
        "b": b,
        "c": np.array(["left", "middle", "right"])[rng.integers(3, size=_ROWS)],
        "g": rng.integers(20, size=_ROWS),
    }
