"""Offsets: known numbers in the linear predictors, for every design, family, control variate and test."""

import functools

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

import tunamh
from tunamh import GLM, MH, MHSS, FlyMC, Gaussian, Huber, Logistic, Normal, Probit, StudentT, Taylor, TunaMH, sample

RNG = np.random.default_rng(11)
N = 600
FRAME = pd.DataFrame({"x": RNG.normal(size=N), "group": pd.Categorical(RNG.choice(list("abc"), size=N))})
DENSE = np.column_stack([FRAME.x, FRAME.group == "b", FRAME.group == "c"]).astype(float)
OFFSET = 1.5 * RNG.normal(size=N)
ETA = DENSE @ [0.5, -0.4, 0.3] + OFFSET
REALS = ETA + RNG.standard_t(4, size=N)
LABELS = (RNG.random(N) < 1 / (1 + np.exp(-ETA))).astype(float)
WEIGHTS = RNG.uniform(0.5, 1.5, N)
DESIGNS = {
    "double": DENSE,
    "single": DENSE.astype(np.float32),
    "codes": FRAME,
    "sparse": scipy.sparse.csr_array(DENSE),
}
GIVEN = [{}, {"weights": WEIGHTS}, {"temper": 0.3}, {"weights": WEIGHTS, "temper": 0.3}]
TESTS = {
    "automatic": {},
    "MH": {"test": MH()},
    "TunaMH": {"test": TunaMH(chi=0.1)},
    "FactorizedMH": {"test": tunamh.FactorizedMH(), "control": Taylor(order=1)},
    "Taylor(1)": {"test": MHSS(), "control": Taylor(order=1)},
    "Taylor(2)": {"test": TunaMH(chi=0.1), "control": Taylor(order=2)},
    "FlyMC": {"test": FlyMC(q=0.2)},
    "FlyMC-MAP": {"test": FlyMC(q=0.2, tuned=True)},
}
ALL_TESTS = list(TESTS)
kinds_of_data = pytest.mark.parametrize("design", DESIGNS)
kinds_of_rows = pytest.mark.parametrize("given", GIVEN, ids=lambda given: "-".join(given) or "plain")


def dense_of(design):
    """The matrix that the design stands for, single precision's rounding included."""
    return DESIGNS["single"].astype(float) if design == "single" else DENSE


def logistic_energies(theta, design, given):
    eta = dense_of(design) @ theta + OFFSET
    return given.get("temper", 1.0) * given.get("weights", np.ones(N)) * (np.logaddexp(0, eta) - LABELS * eta)


def compiled_energies(target, theta):
    out, index = np.empty(256), np.arange(N)
    model = target.model()
    model.energies(theta, index[200:400], 200, model.data, out)
    return out[:200].copy()


@kinds_of_data
@kinds_of_rows
def test_energies_are_those_of_the_shifted_predictors(design, given):
    """In sums over blocks, in compiled code, and in what is left of them by an expansion."""
    target = GLM(DESIGNS[design], LABELS, Logistic(), offset=OFFSET, **given)
    theta = np.array([0.3, -0.8, 0.1])
    truth = logistic_energies(theta, design, given)
    assert target.expansion(theta).energy == pytest.approx(truth.sum(), rel=1e-12)
    assert target.energies_at(theta[None]) == pytest.approx(truth.sum(), rel=1e-12)
    assert compiled_energies(target, theta) == pytest.approx(truth[200:400], rel=1e-12)
    step = 1e-6 * np.eye(3)
    slopes = [(logistic_energies(theta + e, design, given) - logistic_energies(theta - e, design, given)) for e in step]
    assert target.slope(theta)[1] == pytest.approx(np.sum(slopes, axis=1) / 2e-6, rel=1e-6)
    for order in (1, 2):
        expanded = Taylor(order=order)(target)
        centre, away = expanded.centre, theta - expanded.centre
        eta, weight = dense_of(design) @ centre + OFFSET, given.get("temper", 1.0) * given.get("weights", np.ones(N))
        p, move = 1 / (1 + np.exp(-eta)), dense_of(design) @ away
        polynomial = weight * ((p - LABELS) * move + (order == 2) * 0.5 * p * (1 - p) * move**2)
        left = truth - logistic_energies(centre, design, given) - polynomial
        assert compiled_energies(expanded, theta) == pytest.approx(left[200:400], abs=1e-12)
        assert 0.1 < tunamh.check_bounds(expanded, pairs=5, rng=1) <= 1


@kinds_of_data
@kinds_of_rows
@pytest.mark.parametrize("family", [Gaussian(1.0), StudentT(4.0, scale=1.0), Huber(1.0, scale=1.0)], ids=repr)
def test_an_offset_of_a_residual_is_part_of_the_response(design, given, family):
    with_offset = GLM(DESIGNS[design], REALS, family, offset=OFFSET, **given)
    subtracted = GLM(DESIGNS[design], REALS - OFFSET, family, **given)
    one, other = with_offset.modes[0], subtracted.modes[0]
    assert one.point == pytest.approx(other.point, abs=1e-8)
    assert one.posterior.plain_hessian == pytest.approx(other.posterior.plain_hessian, rel=1e-6)
    without = GLM(DESIGNS[design], REALS, family, **given).modes[0].point
    assert np.abs(without - one.point).max() > 0.01  # else the comparison would show nothing


@pytest.mark.parametrize("name", ALL_TESTS)
@pytest.mark.parametrize("given", [{}, {"weights": WEIGHTS, "temper": 0.3}], ids=["plain", "weights-temper"])
def test_chains_take_the_same_steps_as_without_the_offset_in_the_response(name, given):
    """Energies, bounds and random numbers are the same, up to rounding; so are the draws of a short run."""
    run = {"draws": 60, "tune": 30, "chains": 2, "rng": 5, **TESTS[name]}
    run |= {} if name == "automatic" else {"proposal": tunamh.RandomWalk(0.05), "init": np.zeros(3)}
    pairs = ((REALS, {"offset": OFFSET}), (REALS - OFFSET, {}))
    one, other = (sample(GLM(DENSE, y, StudentT(4.0, scale=1.0), **more, **given), **run) for y, more in pairs)
    assert one.posterior["theta"].values.std() > 0.01
    assert one.posterior["theta"].values == pytest.approx(other.posterior["theta"].values, abs=1e-6)


@functools.cache
def logistic_truth():
    """Means and standard deviations of two coefficients under a flat prior, by the midpoint rule."""
    around = np.linspace(-2.2, 2.2, 201)
    grid = np.stack(np.meshgrid(around + 0.5, around - 0.4, indexing="ij"), axis=-1).reshape(-1, 2)
    predictor = grid @ DENSE[:200, :2].T + OFFSET[:200]
    log_density = -(np.logaddexp(0, predictor) - LABELS[:200] * predictor).sum(axis=1)
    mass = np.exp(log_density - log_density.max())
    mass = (mass / mass.sum()).reshape(-1)
    edge = mass.reshape(201, 201)
    assert max(edge[[0, -1]].max(), edge[:, [0, -1]].max()) < 1e-4 * mass.max()
    mean = mass @ grid
    return mean, np.sqrt(mass @ (grid - mean) ** 2)


@pytest.mark.parametrize("name", ALL_TESTS)
def test_the_posterior_is_that_of_quadrature(name):
    mean, sd = logistic_truth()
    target = GLM(DENSE[:200, :2], LABELS[:200], Logistic(), offset=OFFSET[:200])
    thin = 1 if name == "automatic" else 20
    draws = sample(target, draws=3000, thin=thin, rng=6, **TESTS[name]).posterior["theta"].values.reshape(-1, 2)
    assert draws.mean(axis=0) == pytest.approx(mean, abs=0.06 * sd.max())
    assert draws.std(axis=0) == pytest.approx(sd, rel=0.06)


@pytest.mark.parametrize("family", [Logistic(), Probit()], ids=repr)
def test_an_offset_is_a_column_whose_coefficient_is_one(family):
    target = GLM(DENSE, LABELS, family, offset=OFFSET)
    pinned = Normal(mean=[0, 0, 0, 1], scale=[1e6, 1e6, 1e6, 1e-9])
    column = GLM(np.column_stack([DENSE, OFFSET]), LABELS, family, prior=pinned)
    assert column.modes[0].point == pytest.approx([*target.modes[0].point, 1], abs=1e-7)


def test_counts_with_an_exposure():
    """The offset of a log link is the logarithm of an exposure: twice as long, twice as many."""
    rng = np.random.default_rng(3)
    exposure = rng.uniform(0.5, 4.0, 5000)
    counts = rng.poisson(exposure * 1.7 * rng.gamma(2.0, 0.5, 5000))
    target = GLM(np.ones((5000, 1)), counts, tunamh.NegativeBinomial(2.0), offset=np.log(exposure))
    assert np.exp(target.modes[0].point[0]) == pytest.approx(1.7, abs=0.1)


def test_an_offset_that_separates_nothing_is_not_taken_for_separation():
    """Whether there is a posterior is a question about columns, not about known numbers."""
    offset = 50.0 * (2 * LABELS - 1)  # the labels follow from it
    target = GLM(DENSE, LABELS, Logistic(), offset=0.01 * offset)
    assert target.separating_direction() is None
    separated = GLM(DENSE, (DENSE[:, 0] > 0).astype(float), Logistic(), offset=OFFSET)
    with pytest.raises(tunamh.ImproperPosterior, match="column"):
        sample(separated, rng=1)


@pytest.mark.parametrize(
    ("offset", "error", "message"),
    [
        (OFFSET[:-1], ValueError, "offset has 599 entries, but there are 600 rows"),
        (np.where(np.arange(N) == 7, np.nan, OFFSET), ValueError, "offset has nan in row 7"),
        (np.where(np.arange(N) == 7, np.inf, OFFSET), ValueError, "offset has inf in row 7"),
        (np.column_stack([OFFSET, OFFSET]), ValueError, "offset must have one dimension"),
        (["a"] * N, TypeError, "offset"),
    ],
    ids=["short", "nan", "infinite", "two columns", "text"],
)
def test_offsets_that_are_no_use_are_refused(offset, error, message):
    with pytest.raises(error, match=message):
        GLM(DENSE, LABELS, Logistic(), offset=offset)


def test_pandas_offsets_are_paired_by_their_labels():
    table = pd.DataFrame(DENSE, index=np.arange(N) + 1000)
    series, shuffled = pd.Series(OFFSET, index=table.index), np.random.default_rng(1).permutation(N)
    straight = GLM(table, pd.Series(LABELS, index=table.index), Logistic(), offset=series)
    mixed = GLM(table, pd.Series(LABELS, index=table.index), Logistic(), offset=series.iloc[shuffled])
    assert (straight.modes[0].point == mixed.modes[0].point).all()
    with pytest.raises(ValueError, match=r"row labels .pandas index. of X and offset differ"):
        GLM(table, pd.Series(LABELS, index=table.index), Logistic(), offset=series.set_axis(np.arange(N)))


def test_an_offset_that_changes_is_noticed_and_is_part_of_the_fingerprint():
    offset = OFFSET.copy()
    target = GLM(DENSE, LABELS, Logistic(), offset=offset)
    assert target.fingerprint != GLM(DENSE, LABELS, Logistic(), offset=OFFSET + 1e-9).fingerprint
    assert target.fingerprint == GLM(DENSE, LABELS, Logistic(), offset=OFFSET).fingerprint
    offset += 1.0
    with pytest.raises(ValueError, match="offset"):
        sample(target, rng=1)


def test_large_offsets_raise_no_false_alarm():
    """What cancels in a predictor is as large as the offset; remainders of a Gaussian attain their bounds."""
    target = GLM(DENSE[:, :2], REALS + 1e7, Gaussian(1.0), offset=OFFSET + 1e7)
    sample(target, test=MHSS(), control=Taylor(order=1), draws=4000, rng=2)
