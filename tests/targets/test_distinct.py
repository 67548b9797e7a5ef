"""Rows that repeat are taken once: the same energies, and what a user meets."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import tunamh
from tunamh import GLM, Normal

N = 3000


def table(rng):
    return pd.DataFrame(
        {"one": np.ones(N), "b": rng.integers(2, size=N), "level": pd.Categorical(rng.choice(list("uvw"), N))}
    )


def cases():
    rng = np.random.default_rng(1)
    X = table(rng)
    labels, counts = rng.integers(2, size=N).astype(float), rng.integers(4, size=N).astype(float)
    offset, weights = np.log(rng.integers(1, 3, size=N)), rng.integers(1, 3, size=N).astype(float)
    censored, times = rng.integers(2, size=N), rng.integers(1, 5, size=N).astype(float)
    whole = np.column_stack([np.ones(N), X["b"]]).astype(np.float32)
    return {
        "labels": GLM(X, labels, tunamh.Logistic(), prior=Normal(scale=2)),
        "single precision": GLM(whole, labels, tunamh.Logistic(), prior=Normal(scale=2)),
        "offset and weights": GLM(X, counts, tunamh.Poisson(), offset=offset, weights=weights, temper=0.5),
        "dispersion": GLM(X, counts, tunamh.NegativeBinomial(), prior=Normal(scale=2)),
        "censored": GLM(X, times, tunamh.Weibull(), censored=censored, prior=Normal(scale=2)),
        "trials": GLM(X, labels, tunamh.Logistic(), trials=np.full(N, 2.0)),
        "classes": GLM(X, counts, tunamh.Categorical(), prior=Normal(scale=2)),
        "ordered": GLM(X[["b"]], counts, tunamh.Ordinal(), prior=Normal(scale=2)),
        "scale by columns": GLM(X, counts, tunamh.Gaussian(), predictors={"scale": whole}, prior=Normal(scale=2)),
    }


@pytest.mark.parametrize("name", cases())
def test_energies_are_the_same_on_fewer_rows(name):
    target = cases()[name]
    found = target.distinct()
    assert found is not None
    assert found.n_rows < N / 20
    assert found.effective_rows == pytest.approx(target.effective_rows)
    assert found.fingerprint == target.fingerprint
    rng = np.random.default_rng(2)
    start = target.modes[0].point
    points = start + 0.1 * np.abs(start).max() * rng.uniform(-1, 1, size=(5, target.dim))
    if name == "ordered":
        points[:, 1:] = np.sort(points[:, 1:], axis=1)
    energies = target.energies_at(points)
    assert np.isfinite(energies).all()
    assert np.allclose(found.energies_at(points), energies, rtol=1e-11)


def test_a_row_left_out_would_be_seen():
    """Negative control."""
    target = cases()["labels"]
    found = target.distinct()
    found.observations.weights[0] -= 1.0
    point = np.full((1, target.dim), 0.3)
    assert abs(found.energies_at(point)[0] - target.energies_at(point)[0]) > 0.1


def test_rows_that_differ_and_short_data_stay_as_they_are():
    rng = np.random.default_rng(3)
    X, y = rng.standard_normal((N, 2)), rng.integers(2, size=N).astype(float)
    assert GLM(X, y, tunamh.Logistic()).distinct() is None
    assert GLM(np.ones((100, 1)), y[:100], tunamh.Logistic()).distinct() is None


def test_sampling_says_so_and_agrees_with_all_rows():
    target = cases()["labels"]
    tree = tunamh.sample(target, draws=1000, rng=1)
    assert "3,000 rows have 12 different ones" in tree.posterior.attrs["choice"]
    said = tunamh.sample(
        target, draws=1000, rng=2, test=tunamh.MHSS(), control=tunamh.Taylor(2), proposal=tunamh.Autoregressive()
    )
    a, b = (each.posterior["theta"].values.reshape(-1, target.dim) for each in (tree, said))
    assert np.abs((a.mean(axis=0) - b.mean(axis=0)) / a.std(axis=0)).max() < 0.12
