"""A dispersion that the data do not bound: the warning says what is meant."""

import json

import numpy as np
import pytest
import xarray

from tunamh.results.convergence import Convergence
from tunamh.results.overdispersion import told_of_dispersion

FAMILIES = {
    "tunamh.Poisson()": {"name": "NegativeBinomial"},
    "tunamh.ZeroInflated(tunamh.Poisson())": {"name": "ZeroInflated", "counts": {"name": "NegativeBinomial"}},
    "tunamh.Hurdle(tunamh.Poisson())": {"name": "Hurdle", "counts": {"name": "NegativeBinomial"}},
}


def posterior(family, spread, about=200.0):
    draws = about * np.exp(spread * np.random.default_rng(1).standard_normal((4, 200)))
    told = {"role": "parameter of the family", "term": "dispersion"}
    return xarray.Dataset({"alpha": (("chain", "draw"), draws, told)}, attrs={"model": json.dumps({"family": family})})


@pytest.mark.parametrize("advised", FAMILIES)
def test_the_simpler_family_is_named(advised):
    told = told_of_dispersion(posterior(FAMILIES[advised], 1.2), {"alpha"})
    assert "hardly bound alpha from above" in told
    assert f"family={advised}" in told
    bad = Convergence(1.4, 0, 9.0, 0, [], 4, [])
    assert bad.complaint(["alpha"], 200, told).endswith(told)


def test_nothing_is_said_where_data_bound_it_or_another_parameter_is_worst():
    family = FAMILIES["tunamh.Poisson()"]
    assert not told_of_dispersion(posterior(family, 1.2), {"x"})
    assert not told_of_dispersion(posterior(family, 0.3), {"alpha"})
    assert not told_of_dispersion(posterior(family, 1.2, about=2.0), {"alpha"})
    assert not told_of_dispersion(posterior({"name": "Gamma"}, 1.2), {"alpha"})
