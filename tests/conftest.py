"""Shared by all tests."""

from __future__ import annotations

import os
import signal

os.environ.setdefault("CI", "true")  # no progress bars

import numpy as np
import pytest


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20201206)


@pytest.fixture
def hears_ctrl_c():
    """A shell that starts the suite in the background makes it deaf to SIGINT; tests that send one would never end."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def path(tmp_path, monkeypatch):
    """A folder for a stored run, which is then written in many small chunks."""
    from tunamh import stored
    from tunamh.store import folder

    monkeypatch.setattr(stored, "chunk_draws_for", lambda *sizes: 16)
    monkeypatch.setattr(folder, "SECONDS_BETWEEN", 0.0)
    return tmp_path / "run"


def logistic_data(n_rows: int, d: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, d))
    y = (rng.random(n_rows) < 1 / (1 + np.exp(-X @ np.linspace(-1, 1, d)))).astype(float)
    return X, y
