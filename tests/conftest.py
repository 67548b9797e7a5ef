"""Shared by all tests: a compile cache keyed by the sources, and small helpers."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

ROOT = Path(__file__).parent.parent


def source_hash() -> str:
    digest = hashlib.sha1()
    for path in sorted((ROOT / "src").rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


# Editing a helper does not invalidate its cached callers in other files, so every state of src has a cache of its own.
os.environ["NUMBA_CACHE_DIR"] = str(ROOT / ".cache" / "numba" / source_hash())
os.environ.setdefault("CI", "true")  # no progress bars

import numpy as np  # noqa: E402
import pytest  # noqa: E402


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20201206)


def logistic_data(n_rows: int, d: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, d))
    y = (rng.random(n_rows) < 1 / (1 + np.exp(-X @ np.linspace(-1, 1, d)))).astype(float)
    return X, y
