"""Student-t errors of unknown scale, where many responses are equal: there may be no posterior."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import tunamh


def _table(n: int, equal: int, value: float) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.standard_normal(n), "y": value + rng.standard_normal(n)})
    table.loc[: equal - 1, "y"] = value
    return table


def _sampled(table, family, **beside):
    target = tunamh.regression("y ~ x", table, family=family, **beside)
    return tunamh.sample(target, draws=20, tune=20, chains=2, rng=1, progressbar=False)


@pytest.mark.parametrize("value", [0.0, 3.5])
def test_most_responses_are_equal(value):
    with pytest.raises(tunamh.ImproperPosterior, match=rf"85.0% of the responses are exactly {value:.6g}"):
        _sampled(_table(200, 170, value), tunamh.StudentT())


def test_degrees_of_freedom_decide():
    table = _table(200, 120, 0.0)
    with pytest.raises(tunamh.ImproperPosterior):
        _sampled(table, tunamh.StudentT(df=1.0))
    with pytest.raises(tunamh.ImproperPosterior):
        _sampled(table, tunamh.StudentT(df=None))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "family",
    [
        tunamh.StudentT(scale=1.0),
        tunamh.StudentT(scale=tunamh.priors.InverseGamma(2, 1)),
        tunamh.Huber(),
        tunamh.Gaussian(),
    ],
)
def test_ways_out(family):
    assert np.isfinite(_sampled(_table(200, 170, 0.0), family).posterior["x"]).all()


@pytest.mark.filterwarnings("ignore")
def test_the_bound_of_the_proof():
    """Refused from ``W - v R >= d + 1`` on: 4 degrees of freedom, 10 others, 2 coefficients."""
    assert _sampled(_table(52, 42, 0.0), tunamh.StudentT()) is not None
    with pytest.raises(tunamh.ImproperPosterior):
        _sampled(_table(53, 43, 0.0), tunamh.StudentT())


@pytest.mark.filterwarnings("ignore")
def test_weights_and_offsets_count():
    table = _table(200, 170, 0.0).assign(w=1.0, z=lambda t: t["x"] ** 2)
    table.loc[170:, "w"] = 10.0
    assert _sampled(table, tunamh.StudentT(), weights="w") is not None
    target = tunamh.regression("y ~ x + offset(z)", table, family=tunamh.StudentT())
    assert tunamh.sample(target, draws=20, tune=20, chains=2, rng=1, progressbar=False) is not None
