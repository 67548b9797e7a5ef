"""Files that come day by day, for the tests of living data."""

import multiprocessing
import os
import signal
from contextlib import contextmanager

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import tunamh
from tunamh.rows.parquet import ParquetPiece

FORMULA, ROWS = "late ~ a + b + carrier", 2000
TRUTH = np.array([-0.7, 0.6, -0.4])


def table_of_day(day, rows=ROWS, levels=("AA", "BB", "CC"), drift=0.0):
    """Late or not, by two numbers and a carrier; coefficients may drift from day to day."""
    rng = np.random.default_rng(1000 + day)
    x, carrier = rng.standard_normal((rows, 2)), rng.choice(levels, rows)
    truth = TRUTH + drift * day
    eta = truth[0] + x @ truth[1:] + 0.5 * (carrier == "BB")
    late = (rng.random(rows) < 1 / (1 + np.exp(-eta))).astype(int)
    person = rng.integers(100, size=rows)
    return pa.table({"a": x[:, 0], "b": x[:, 1], "carrier": carrier, "late": late, "person": person})


def write_day(folder, day, **how):
    path = folder / f"{day:03d}.parquet"
    pq.write_table(table_of_day(day, **how), path)
    return path


def living(folder, cache, formula=FORMULA, family=None, prior=None, missing="error", **how):
    """The target of a night."""
    rows = tunamh.open_rows(str(folder / "*.parquet"), cache=cache, **how)
    return tunamh.regression(formula, rows, family=family or tunamh.Logistic(), prior=prior, missing=missing)


def fresh(folder, formula=FORMULA, family=None):
    """The same model of all rows in memory, without a cache."""
    return tunamh.regression(formula, tunamh.open_rows(str(folder / "*.parquet")), family=family or tunamh.Logistic())


def sampled(target, seed, draws=700):
    """Draws (draw, coefficient) of all chains, and the Monte Carlo errors of their means and standard deviations."""
    tree = tunamh.sample(target, rng=seed, draws=draws, tune=300, progressbar=False)
    found = tunamh.summary(tree)
    return found[["mean", "sd", "mcse_mean", "mcse_sd"]].astype(float)


def z_scores(one, other):
    """Of differences of means and of standard deviations, by coefficient."""
    means = (one["mean"] - other["mean"]) / np.hypot(one["mcse_mean"], other["mcse_mean"])
    widths = (one["sd"] - other["sd"]) / np.hypot(one["mcse_sd"], other["mcse_sd"])
    return np.concatenate([means.to_numpy(), widths.to_numpy()])


@contextmanager
def counted_reads(monkeypatch):
    """The places of all pieces that are read inside, once for every reading."""
    places, tables = [], ParquetPiece._tables

    def noted(self, *how):
        places.append(self.path)
        return tables(self, *how)

    with monkeypatch.context() as patch:
        patch.setattr(ParquetPiece, "_tables", noted)
        yield places


def killed_after(writes, work, *arguments):
    """Whether ``work``, in a process of its own, was killed after it had written or renamed so many files."""
    process = multiprocessing.get_context("fork").Process(target=_until_killed, args=(writes, work, arguments))
    process.start()
    process.join()
    return process.exitcode == -signal.SIGKILL


def _until_killed(writes, work, arguments):
    replace, left = os.replace, [writes]

    def replaced(*names):
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        left[0] -= 1
        replace(*names)

    os.replace = replaced
    work(*arguments)
