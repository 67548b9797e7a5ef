"""The data of `group_fits.py`: lme4's, those of `real_groups.py`, and simulated ones."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from common import HERE, run_apart
from group_problems import GroupProblem, load, simulate, simulate_crossed
from groups import PROBLEMS
from models import PEERS_PYTHON


class Entry(NamedTuple):
    """A line of the table. ``earlier`` says where figures of NUTS for the same data are, ``nuts`` whether to run it."""

    title: str
    make: Callable[[Path], GroupProblem]
    nuts: bool = False
    earlier: tuple[str, str, str] | None = None


def _run_r(script: str, *arguments: str) -> None:
    if shutil.which("Rscript") is None:
        raise RuntimeError("R is not installed")
    done = subprocess.run(["Rscript", str(HERE / script), *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"R: {done.stderr.strip().splitlines()[-1][:100]}")


def from_lme4(name: str, family: str) -> Callable[[Path], GroupProblem]:
    """By R, which is asked for a table of numbers. Ordinal models have no intercept; answers 4 and 5 are good ones."""

    def make(folder: Path) -> GroupProblem:
        table = folder / "lme4.csv"
        _run_r("lme4_data.R", name, str(table))
        values = np.loadtxt(table, delimiter=",", skiprows=1)
        columns = table.read_text().split("\n", 1)[0].replace('"', "").split(",")
        y, X, codes = (values[:, [c[0] == letter for c in columns]] for letter in "yxg")
        X = (X - X.mean(axis=0)) / X.std(axis=0)
        if family != "ordinal":
            X = np.column_stack([np.ones(len(X)), X])
        y = y[:, 0] >= 4 if (name, family) == ("insteval", "logistic") else y[:, 0]
        return GroupProblem(family, X, y.astype(float), codes.astype(int))

    return make


def from_real_groups(name: str) -> Callable[[Path], GroupProblem]:
    def make(folder: Path) -> GroupProblem:
        path = folder / "read.npz"
        command = [str(PEERS_PYTHON), str(HERE / "real_groups.py"), "--read", name, str(path)]
        if not PEERS_PYTHON.exists():
            raise RuntimeError("benchmarks/.peers-venv, which has the data, is missing; make bench makes it")
        found = run_apart(command, cores=1, timeout=300)
        if found["status"] != "ok":
            raise RuntimeError(found["status"])
        return load(path)

    return make


def one_factor(groups: int, rows_each: int) -> Callable[[Path], GroupProblem]:
    codes = np.repeat(np.arange(groups), rows_each)
    return lambda folder: simulate("logistic", groups * rows_each, groups, 5, codes=codes)


def crossed(n_rows: int, *groups: int) -> Callable[[Path], GroupProblem]:
    return lambda folder: simulate_crossed(n_rows, groups, 5)


ENTRIES = {
    "grouseticks": Entry("grouseticks, Poisson, three factors", from_lme4("grouseticks", "poisson"), nuts=True),
    "verbagg": Entry("VerbAgg, logistic, persons x items", from_lme4("verbagg", "logistic"), nuts=True),
    "insteval-logistic": Entry(
        "InstEval, logistic, students x lecturers", from_lme4("insteval", "logistic"), nuts=True
    ),
    "insteval-gaussian": Entry("InstEval, Gaussian", from_lme4("insteval", "gaussian")),
    "insteval-ordinal": Entry("InstEval, ordinal", from_lme4("insteval", "ordinal")),
    "visits": Entry("visits by person, Poisson", from_real_groups("visits"), nuts=True),
    "planes": Entry("late flights by aeroplane", from_real_groups("planes"), earlier=("real_groups", "data", "planes")),
    "both": Entry(
        "late flights by aeroplane x destination", from_real_groups("both"), earlier=("real_groups", "data", "both")
    ),
    "both-all": Entry("the same, all flights", from_real_groups("both-all")),
    "1e3-of-3": Entry("logistic, 10^3 groups of 3 rows", one_factor(1_000, 3), nuts=True),
    "1e4-of-3": Entry("logistic, 10^4 groups of 3 rows", one_factor(10_000, 3), nuts=True),
    "1e5-of-3": Entry("logistic, 10^5 groups of 3 rows", one_factor(100_000, 3)),
    "1e3-of-100": Entry(
        "logistic, 10^3 groups of about 100 rows",
        lambda folder: simulate(*PROBLEMS["logistic-1e5"]),
        earlier=("groups", "problems", "logistic-1e5"),
    ),
    "1e4-of-10": Entry("logistic, 10^4 groups of 10 rows", one_factor(10_000, 10)),
    "1e5-of-10": Entry("logistic, 10^5 groups of 10 rows", one_factor(100_000, 10)),
    "1e3x1e2": Entry("logistic, crossed 10^3 x 10^2", crossed(100_000, 1_000, 100), nuts=True),
    "1e4x1e3": Entry("logistic, crossed 10^4 x 10^3", crossed(100_000, 10_000, 1_000)),
    "1e5x1e3": Entry("logistic, crossed 10^5 x 10^3", crossed(1_000_000, 100_000, 1_000)),
}
