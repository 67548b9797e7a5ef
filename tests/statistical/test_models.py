"""Every family against quadrature in two or three dimensions, its likelihood written down once more by `scipy.stats`.

`TUNAMH_MODELS=10 pytest tests/statistical/test_models.py` takes ten data sets and seeds where CI takes one.
"""

import os
import sys
import warnings
from zlib import crc32

import numpy as np
import pytest
from marginals import FILE, JACOBIAN_LEFT_OUT, is_that_of, kept_marginals, made, read
from regressions import MODELS, Ready

from tunamh import MH, sample

SEEDS = int(os.environ.get("TUNAMH_MODELS", "1"))
LIMIT = 4.0 if SEEDS == 1 else 4.7  # of one score among some 500, or among 5000 and more


def drawn(ready, seed, **settings):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of scales that are far from the residuals
        return ready.draws(sample(ready.target, draws=4000, rng=seed, progressbar=False, **settings))


def told(name, seed, scores):
    if SEEDS > 1:
        print(f"{name}, seed {seed}: {np.abs(scores).max():.2f}", file=sys.__stderr__, flush=True)


@pytest.mark.parametrize("seed", range(SEEDS))
@pytest.mark.parametrize("name", MODELS)
def test_draws_agree_with_quadrature(name, seed):
    ready = Ready(MODELS[name], seed)
    truth = kept_marginals(name, ready)
    scores = truth.scores(drawn(ready, seed + 1))
    told(name, seed, scores)
    assert np.abs(scores).max() < LIMIT, scores


ALL_ROWS = [
    "Student-t",
    "Student-t, df",
    "Tobit, both, own prior",
    "Weibull, right",
    "negative binomial",
    "gamma",
    "zero-inflated",
    "zero-inflated negative binomial",
    "beta",
    "ordinal",
    "categorical",
    "Tweedie",
    "Poisson",
]


@pytest.mark.parametrize("seed", range(SEEDS))
@pytest.mark.parametrize("name", ALL_ROWS)
def test_draws_of_plain_metropolis_hastings_agree_with_quadrature(name, seed):
    """Rows, closed forms and priors, without control variates and minibatches: a random walk on all rows."""
    ready = Ready(MODELS[name], seed)
    truth = kept_marginals(name, ready)
    scores = truth.scores(drawn(ready, seed + 1, test=MH(), thin=10))
    told(f"{name}, MH", seed, scores)
    assert np.abs(scores).max() < LIMIT, scores


@pytest.mark.parametrize("name", JACOBIAN_LEFT_OUT)
def test_a_jacobian_left_out_shows(name):
    """Negative control: quadrature of another density, different by one power of the extra parameter."""
    ready = Ready(MODELS[name], 0)
    wrong = kept_marginals(name, ready, jacobian=False)
    assert np.abs(wrong.scores(drawn(ready, 1))).max() > 8


def test_a_normaliser_left_out_shows():
    """Negative control: the censored rows of a Weibull regression counted as if they had been observed."""
    ready = Ready(MODELS["Weibull, right"], 0)
    censored, ready.codes = ready.codes, np.zeros(len(ready.y))
    wrong = made(ready)
    ready.codes = censored
    assert np.abs(wrong.scores(drawn(ready, 1))).max() > 20


def test_the_file_has_marginals_of_every_model_as_it_is_today():
    """Where this fails, a model has changed: `python tests/statistical/marginals.py` makes marginals of it."""
    readies = {name: Ready(model, 0) for name, model in MODELS.items()}
    assert [name for name, ready in readies.items() if not is_that_of(name, ready)] == []
    assert [name for name in JACOBIAN_LEFT_OUT if not is_that_of(name, readies[name], jacobian=False)] == []
    assert len(read()) == len(MODELS) + len(JACOBIAN_LEFT_OUT)
    assert not is_that_of("Gaussian", Ready(MODELS["Gaussian"], 1))


def test_marginals_in_the_file_are_those_of_quadrature():
    """Of one model; of another one where the file changes."""
    name = list(MODELS)[crc32(FILE.read_bytes()) % len(MODELS)]
    ready = Ready(MODELS[name], 0)
    kept, anew = kept_marginals(name, ready), made(ready)
    for numbers in ("mean", "variance", "low", "high"):
        assert np.allclose(getattr(kept, numbers), getattr(anew, numbers), rtol=1e-3, atol=1e-4), (name, numbers)
