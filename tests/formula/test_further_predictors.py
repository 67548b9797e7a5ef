"""Priors of further predictors: in the units of the data, whatever the origin of a column."""

import numpy as np
import pandas as pd
import pytest

import tunamh
from tunamh.formula.errors import FormulaError
from tunamh.targets.search.newton import find_mode

N = 400
_rng = np.random.default_rng(3)
YEAR = np.round(_rng.normal(0, 1.5, N), 2)
ZEROS = _rng.random(N) < 1 / (1 + np.exp(0.5 - YEAR))
COUNTS = np.where(ZEROS, 0, _rng.poisson(np.exp(1 + 0.4 * YEAR)))
REALS = 2 + 0.5 * YEAR + np.exp(0.2 + 0.3 * YEAR) * _rng.normal(size=N)
INFLATED = tunamh.ZeroInflated(tunamh.Poisson())


def table(shift=0.0, stretch=1.0):
    level = np.where(np.arange(N) % 3 == 0, "a", "b")
    return pd.DataFrame({"k": COUNTS, "g": stretch * REALS, "year": YEAR + shift, "level": level})


FORMULAS = {
    "inflation": ("k ~ year", INFLATED),
    "inflation, dispersion": ("k ~ year", tunamh.ZeroInflated(tunamh.NegativeBinomial())),
    "scale": ("g ~ year", tunamh.Gaussian()),
    "zeta": ("g ~ year", tunamh.family(lambda eta, zeta, y: zeta + 0.5 * ((y - eta) * np.exp(-zeta)) ** 2)),
}


def target_of(kind, shift=0.0, stretch=1.0, **more):
    formula, family = FORMULAS[kind]
    of = kind.split(",")[0]
    return tunamh.regression(formula, table(shift, stretch), family=family, predictors={of: "~ year + level"}, **more)


@pytest.mark.parametrize("kind", FORMULAS)
def test_a_shift_of_a_column_leaves_every_slope(kind):
    """Slopes of the inflation were .996, .633 and .0003 for years about 0, 30 and 2000."""
    variable = kind.split(",")[0]
    found = []
    for shift in (0.0, 2000.0):
        target = target_of(kind, shift)
        point = find_mode(target, target.modes[0].point, tolerance=1e-9).point
        names = [name for name, labels in target.variables for _ in (labels or [name])]
        first = names.index(variable)
        natural = target.to_user(point)
        np.testing.assert_allclose(target.to_chain(natural), point, rtol=1e-9)
        origin = natural[first] + natural[first + 1] * shift
        found.append([natural[1], origin, *natural[first + 1 : first + 3]])
    np.testing.assert_allclose(found[1], found[0], atol=1e-3)


def test_the_energy_is_that_of_the_columns_as_they_are():
    """Of a Gaussian with a scale of its own: rows by hand, and the prior by hand."""
    target = target_of("scale", shift=30.0)
    Z = np.column_stack([np.ones(N), YEAR + 30, np.arange(N) % 3 != 0])
    sd, mean, unit = np.std(YEAR), np.mean(YEAR + 30), np.std(REALS)

    def energy(point):
        theta, gamma = point[:2], point[2:]
        log_scale = Z @ gamma
        rows = log_scale + 0.5 * ((REALS - theta[0] - theta[1] * (YEAR + 30)) / np.exp(log_scale)) ** 2
        prior = [theta[1] * sd / unit / 2.5, gamma[1] * sd / 2.5, gamma[2] / 2.5]
        prior.append((gamma[0] + gamma[1] * mean - np.log(unit)) / 2.5)
        return rows.sum() + 0.5 * np.square(prior).sum()

    points = np.array([[-13.0, 0.5, -8.8, 0.3, 0.1], [-12.0, 0.45, -5.5, 0.2, -0.1]])
    found = target.energies_at(np.array([target.to_chain(p) for p in points]))
    told = [energy(p) for p in points]
    assert found[1] - found[0] == pytest.approx(told[1] - told[0], rel=2e-3)  # scales of priors have three digits


def test_the_unit_of_a_response_only_moves_the_log_scale():
    slopes = [target_of("scale", stretch=stretch).modes[0].point[3] for stretch in (1.0, 1e6)]
    assert slopes[1] == pytest.approx(slopes[0], abs=1e-3)


def test_terms_of_further_predictors_have_priors_by_name():
    narrow = target_of("inflation", prior={"year": tunamh.Flat(), "inflation year": tunamh.Normal(scale=1e-4)})
    assert abs(narrow.to_user(narrow.modes[0].point)[3]) < 1e-3
    assert narrow.row_layout.laws[0].scale.tolist() == [2.5, 1e-4, 2.5]
    about_zero = target_of("inflation", 30.0, prior={"inflation Intercept": tunamh.Normal(scale=1)})
    assert not about_zero.recentred
    assert about_zero.row_layout.laws[0].scale[0] == 1.0
    levels = target_of("inflation", prior={"inflation level[b]": tunamh.Normal(scale=7)})
    assert levels.row_layout.laws[0].scale[2] == 7.0


def test_names_that_are_no_terms_and_two_priors_are_refused():
    with pytest.raises(FormulaError, match="of the predictor of inflation: prior names 'hour'"):
        target_of("inflation", prior={"inflation hour": tunamh.Normal(scale=1)})
    with pytest.raises(FormulaError, match="Leave one of them out"):
        tunamh.regression(
            "k ~ year",
            table(),
            family=tunamh.ZeroInflated(tunamh.Poisson(), tunamh.Normal(scale=1)),
            predictors={"inflation": "~ year"},
            prior={"inflation year": tunamh.Normal(scale=1)},
        )


def test_a_prior_of_the_family_is_that_of_the_columns_as_they_are():
    family = tunamh.ZeroInflated(tunamh.Poisson(), tunamh.Normal(scale=1))
    target = tunamh.regression("k ~ year", table(30.0), family=family, predictors={"inflation": "~ year"})
    assert not target.recentred
    assert target.row_layout.laws[0].scale.tolist() == [1.0, 1.0]
