"""Classes by name: text, categories and whole numbers as responses of `Categorical` and `Ordinal`."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import tunamh
from tunamh import GLM, Normal, sample

N = 80
RNG = np.random.default_rng(31)
X = np.column_stack([np.ones(N), RNG.normal(size=N)])
TABLE = pd.DataFrame(X, columns=["one", "x"])
CLASSES = (X @ [0.2, 0.5] + RNG.logistic(size=N) > np.array([[-0.5], [1.0]])).sum(axis=0).astype(float)
WORDS = np.array(["low", "mid", "high"])[CLASSES.astype(int)]
PROPER = Normal(scale=3.0)


def density(target, points):
    return -target.energies_at(np.asarray(points, dtype=float))


NAMED = pd.Categorical(WORDS, categories=["low", "mid", "high"], ordered=True)
ORDERED = {
    "categorical": NAMED,
    "series": pd.Series(NAMED),
    "frame": pd.DataFrame({"answer": NAMED}),
    "polars": pl.Series(WORDS.tolist(), dtype=pl.Enum(["low", "mid", "high"])),
    "arrow": pa.DictionaryArray.from_arrays(CLASSES.astype(np.int32), ["low", "mid", "high"], ordered=True),
}


@pytest.mark.parametrize("form", ORDERED)
def test_ordered_categories_keep_their_names_and_order(form):
    named, coded = (
        GLM(X, ORDERED[form], tunamh.Ordinal(), prior=PROPER),
        GLM(X, CLASSES, tunamh.Ordinal(), prior=PROPER),
    )
    assert named.variables[1] == ("cutpoint", ["low|mid", "mid|high"])
    points = [[*RNG.normal(size=2), -0.5, 1.0] for _ in range(4)]
    assert density(named, points) == pytest.approx(density(coded, points), rel=1e-12)


TEXT = {
    "array": WORDS,
    "list": WORDS.tolist(),
    "objects": WORDS.astype(object),
    "series": pd.Series(WORDS),
    "string": pd.Series(WORDS).astype("string"),
    "category": pd.Series(WORDS, dtype="category"),
    "polars": pl.Series(WORDS.tolist()),
    "polars categories": pl.Series(WORDS.tolist()).cast(pl.Categorical),
    "arrow": pa.array(WORDS.tolist()),
}


@pytest.mark.parametrize("form", TEXT)
def test_classes_by_name_are_sorted(form):
    named = GLM(TABLE if hasattr(TEXT[form], "iloc") else X, TEXT[form], tunamh.Categorical(), prior=PROPER)
    label = "one" if hasattr(TEXT[form], "iloc") else "0"
    assert named.names[::2] == [f"{label}[low]", f"{label}[mid]"]
    coded = GLM(X, np.array([1.0, 2.0, 0.0])[CLASSES.astype(int)], tunamh.Categorical(), prior=PROPER)
    points = RNG.normal(size=(4, 4))
    assert density(named, points) == pytest.approx(density(coded, points), rel=1e-12)


@pytest.mark.parametrize("values", [[1, 2, 3], [-5, 0, 7], [0, 2, 3], [2021, 2022, 2023]])
def test_classes_are_any_whole_numbers(values):
    given = np.array(values)[CLASSES.astype(int)]
    other, coded = (GLM(X, y, tunamh.Categorical(), prior=PROPER) for y in (given, CLASSES))
    assert other.names == [f"{column}[{value}]" for value in values[1:] for column in "01"]
    points = RNG.normal(size=(4, 4))
    assert density(other, points) == pytest.approx(density(coded, points), rel=1e-12)
    tree = sample(other, draws=100, tune=30, chains=2, rng=1, progressbar=False)
    assert list(tree.posterior["theta"].coords["parameter"].values) == other.names
