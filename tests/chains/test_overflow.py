"""Numbers at the ends of what a computer holds: a proposal there is rejected, data there are refused in words."""

import numpy as np
import pytest

import tunamh
from tunamh import GLM, MHSS, Hurdle, NonFiniteEnergy, Normal, Poisson, RandomWalk, Taylor, ZeroInflated, sample

N = 200
RNG = np.random.default_rng(1)
X = np.column_stack([np.ones(N), RNG.normal(size=N)])
COUNTS = RNG.poisson(2.0, N) * (RNG.random(N) < 0.6).astype(float)
FAMILIES = {"Poisson": Poisson(), "zero-inflated": ZeroInflated(Poisson()), "hurdle": Hurdle(Poisson())}


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.filterwarnings("ignore:the chains have not converged", "ignore:.* never moved")
def test_a_proposal_whose_energy_overflows_is_rejected(name):
    """Steps of length 400: e^eta is infinite in nearly all of them, and the run ended in NonFiniteEnergy."""
    target = GLM(X, COUNTS, FAMILIES[name], prior=Normal(scale=5.0))
    walk = RandomWalk([400.0] * target.dim)
    tree = sample(target, control=Taylor(order=2), test=MHSS(), proposal=walk, draws=200, tune=0, rng=1)
    assert tree.sample_stats["acceptance_rate"].mean() < 0.05


@pytest.mark.parametrize("name", FAMILIES)
def test_a_large_offset_is_an_intercept(name):
    """Of 800 the energy at the start of the search is infinite: raw LinAlgErrors."""
    target = GLM(X, COUNTS, FAMILIES[name], offset=np.full(N, 800.0))
    plain = GLM(X, COUNTS, FAMILIES[name])
    assert target.modes[0].point[0] + 800 == pytest.approx(plain.modes[0].point[0], abs=0.05)
    assert target.modes[0].point[1:] == pytest.approx(plain.modes[0].point[1:], abs=0.05)


@pytest.mark.parametrize("family", [ZeroInflated(Poisson()), Hurdle(Poisson()), tunamh.Gamma()])
def test_offsets_that_no_coefficients_make_up_for_are_told_of(family):
    """No point with finite energies is found; the error names a row."""
    y = COUNTS + isinstance(family, tunamh.Gamma)
    with pytest.raises(NonFiniteEnergy, match="row"):
        sample(GLM(X, y, family, offset=5e4 * RNG.normal(size=N), prior=Normal(scale=2.0)), rng=1, draws=10)


@pytest.mark.parametrize("size", [1e-310, 1e-200])
@pytest.mark.parametrize("family", [Poisson(), tunamh.Gaussian(), tunamh.NegativeBinomial()])
def test_a_column_of_tiny_numbers_is_refused(family, size):
    """Squares of these are zero: "column 1 is zero in every row", or linprog's own ValueError."""
    for columns, name in ((X * [1.0, size], "1"), (X[:, 1:] * size, "0")):
        with pytest.raises(ValueError, match=f"column {name} has no number above .* too small to compute with"):
            sample(GLM(columns, COUNTS, family), rng=1, draws=10)


def test_a_row_of_zeros_has_no_reach():
    """With Taylor(whiten=False) radii are infinite: 0 times infinity was "radii must not be negative or NaN"."""
    columns, y = X.copy(), (X[:, 1] > 0.2).astype(float)
    columns[0] = 0.0
    own = tunamh.family(lambda eta, y: np.logaddexp(0, eta) - y * eta)
    control = Taylor(order=2, whiten=False)
    mine, known = (
        sample(GLM(columns, y, family, prior=Normal(scale=1.0)), control=control, draws=500, rng=1)
        for family in (own, tunamh.Logistic())
    )
    means = [tree.posterior["theta"].mean(("chain", "draw")).values for tree in (mine, known)]
    assert means[0] == pytest.approx(means[1], abs=0.3)
