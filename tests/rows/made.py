"""Rows for the tests of sources: in arrays, in files, and readers that workers import."""

import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

N = 40_000
_rng = np.random.default_rng(5)
X = _rng.standard_normal((N, 3))
CARRIER = np.array(["AA", "BB", "CC", "DD"])[_rng.integers(4, size=N)]
_ETA = X @ [0.6, -0.4, 0.2] + 0.5 * (CARRIER == "CC")
LATE = (_rng.random(N) < 1 / (1 + np.exp(-_ETA))).astype(float)
NOISY = _ETA + _rng.standard_t(4, N)
WEIGHTS = _rng.uniform(0.5, 1.5, N)
TABLE = pa.table(
    {"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "carrier": CARRIER, "late": LATE, "noisy": NOISY, "weights": WEIGHTS}
)


def write(folder, name="rows.parquet", table=TABLE, group=16_384):
    path = Path(folder) / name
    pq.write_table(table, path, row_group_size=group)
    return path


def read_slice(bounds):
    """A reader of blocks: rows from one number to another."""
    return TABLE.slice(bounds[0], bounds[1] - bounds[0])


def read_and_die_once(task):
    """The first worker that reads this block is gone, and with it what it was doing."""
    marker, bounds = task
    if bounds[0] == 16_384 and not os.path.exists(marker):
        Path(marker).touch()
        os._exit(1)
    return read_slice(bounds)


def read_or_fail(bounds):
    if bounds[0] == 16_384:
        raise RuntimeError("the disk said no")
    return read_slice(bounds)


BOUNDS = [(0, 16_384), (16_384, 32_768), (32_768, N)]
