"""Surfaces ``te(x, z)``: their columns and prior, the law of their scales by quadrature, names, pictures, new rows."""

import itertools
import json

import arviz_stats
import numpy as np
import pandas as pd
import pytest
from scipy import stats

import tunamh
from tunamh.formula.curves import terms_of_result
from tunamh.formula.model import FormulaModel

rng = np.random.default_rng(8)
N, SIGMA = 80, 0.5
X = rng.uniform(0, 4, N)
TABLE = pd.DataFrame({"x": X, "z": 0.3 * X + rng.uniform(-1, 1, N), "c": rng.choice(["a", "b"], N)})
TABLE["y"] = np.sin(TABLE["x"]) * TABLE["z"] + SIGMA * rng.standard_normal(N)
SCALE = 0.8


def made(formula="y ~ te(x, z)", **more):
    prior = {"te(x, z)": tunamh.HalfStudentT(3, SCALE)}
    return tunamh.regression(formula, TABLE, family=tunamh.Gaussian(SIGMA), prior=prior, **more)


@pytest.fixture(scope="module")
def fitted():
    target = made()
    return target, tunamh.sample(target, draws=4000, chains=2, cores=1, rng=1, progressbar=False)


# --------------------------------------------------------------------------------------------------------- columns


def test_columns_have_no_mean_over_the_rows():
    surface = made().formula.side.curves[0]
    columns = surface.at(TABLE["x"].to_numpy(), TABLE["z"].to_numpy())
    assert columns.shape == (N, 24)
    assert np.abs(columns.mean(axis=0)).max() < 1e-10
    assert surface.labels[:4] == ("x", "z", "x:z", "0,2")


def test_the_prior_is_the_penalty_along_each_column():
    """``sum c^2 share_x`` is the integral of the squared second derivative along x, averaged over the rows' z."""
    surface = made().formula.side.curves[0]
    x = np.linspace(*surface.margins[0][:2], 4001)
    ratios = []
    for _ in range(3):
        c = rng.standard_normal(24)
        bent = [np.gradient(np.gradient(surface.at(x, np.full(4001, z)) @ c, x), x)[5:-5] for z in TABLE["z"]]
        ratios.append(np.mean(np.square(bent)) / (c**2 @ surface.shares[:, 0]))
    assert np.ptp(ratios) / np.mean(ratios) < 0.02


def test_a_surface_that_is_linear_along_a_column_has_no_penalty_there():
    surface = made().formula.side.curves[0]
    along_x, along_z = surface.shares.T
    assert (along_x[:3] == 0).all()
    assert (along_z[:3] == 0).all()
    for label, a, b in zip(surface.labels[3:], along_x[3:], along_z[3:], strict=True):
        i, j = map(int, label.split(","))
        assert (a > 0) == (i >= 2)
        assert (b > 0) == (j >= 2)


def test_a_stored_surface_makes_the_same_columns(tmp_path):
    side = made("y ~ te(x, z, k=6) + c").formula.side
    again = FormulaModel.from_json(json.loads(json.dumps(made("y ~ te(x, z, k=6) + c").formula.to_json()))).side
    values = made("y ~ te(x, z, k=6) + c").formula.values(TABLE)
    assert np.array_equal(again.columns(values).dense(), side.columns(values).dense())
    TABLE.to_parquet(tmp_path / "rows.parquet", row_group_size=30)
    of_files = tunamh.regression("y ~ te(x, z, k=6) + c", tunamh.open_rows(tmp_path / "rows.parquet"))
    assert np.allclose(of_files.formula.side.columns(values).dense(), side.columns(values).dense(), atol=1e-8)


# ------------------------------------------------------------------------------------------------------- its scales


def by_quadrature(target, power=0.0):
    """Means and deviations of both log scales."""
    side = target.formula.side
    columns, share = side.columns(target.formula.values(TABLE)).dense(), target.prior.share
    known, others = share.any(axis=1), target.prior.others.laws(len(share))
    y, grid = TABLE["y"].to_numpy(), np.linspace(-12, 3, 61)
    value = np.empty((61, 61))
    for (i, a), (j, b) in itertools.product(enumerate(grid), repeat=2):
        precision = share @ np.exp([-2 * a, -2 * b])
        variance = np.where(known, 1 / np.where(known, precision, 1.0), others.scale**2)
        V = SIGMA**2 * np.eye(N) + (columns * variance) @ columns.T
        r = y - columns @ others.mean
        prior = sum(stats.t.logpdf(np.exp(s), 3, scale=SCALE) + (1 + power) * s for s in (a, b))
        value[i, j] = prior - 0.5 * np.linalg.slogdet(V)[1] - 0.5 * r @ np.linalg.solve(V, r)
    weight = np.exp(value - value.max())
    each = weight.sum(axis=1), weight.sum(axis=0)
    mean = np.array([w @ grid / w.sum() for w in each])
    return mean, np.sqrt([w @ (grid - m) ** 2 / w.sum() for w, m in zip(each, mean, strict=True)])


def test_scales_have_their_law(fitted):
    target, posterior = fitted
    log_scale = np.log(posterior.posterior["te(x, z)_sigma"].values)
    mean, deviation = by_quadrature(target)
    effective = np.array([arviz_stats.ess(log_scale[..., g]) for g in range(2)])
    assert effective.min() > 2000
    error = deviation / np.sqrt(effective)
    ours = log_scale.mean(axis=(0, 1))
    assert (np.abs(ours - mean) < 4.5 * error).all()
    assert np.abs(log_scale.std(axis=(0, 1)) / deviation - 1).max() < 0.1
    other = by_quadrature(target, power=0.4)[0]  # negative control
    assert (np.abs(ours - other) > 6 * error).any()


# ---------------------------------------------------------------------------------------------- names, pictures, rows


def test_names_of_results(fitted):
    target, posterior = fitted
    found = posterior.posterior
    assert found["te(x, z)_sigma"].dims == ("chain", "draw", "te(x, z)_sigma_dim")
    assert found["te(x, z)_sigma_dim"].values.tolist() == ["x", "z"]
    assert found["te(x, z)"].sizes["te(x, z)_dim"] == 24
    told = tunamh.prior_summary(target)["prior"]
    assert (
        told["te(x, z)[2,0]"]
        == "normal, mean 0, unknown standard deviation (half-Student-t, 3 degrees of freedom, scale 0.8)"
    )
    assert told["te(x, z)[2,2]"].startswith(
        "normal, mean 0, precision a sum over 2 unknown scales (each half-Student-t"
    )


def test_new_rows_and_those_beyond_the_data(fitted):
    _, posterior = fitted
    new = TABLE.iloc[:6]
    truth = np.sin(new["x"]) * new["z"]
    assert np.abs(tunamh.predict(posterior, new)["mean"].values - truth).max() < 1.0
    with pytest.warns(UserWarning, match="z is outside the range of the fitted data"):
        tunamh.predict(posterior, new.assign(z=9.0))


def test_pictures_of_a_surface(fitted, tmp_path):
    _, posterior = fitted
    (surface,) = terms_of_result(posterior, draws=200)
    assert surface.draws.shape == (200, 40, 40)
    x, z = np.meshgrid(*surface.at)
    near = np.abs(z - 0.3 * x) < 0.8
    off = surface.mean - np.sin(x) * z
    assert np.std(off[near]) < 0.35
    (ax,) = tunamh.plot_smooths(posterior)
    assert (ax.get_xlabel(), ax.get_ylabel(), ax.get_title()) == ("x", "z", "te(x, z)")
    page = tmp_path / "page.html"
    tunamh.report(posterior, page)
    assert 'class="surface"' in page.read_text()


def test_slopes_are_derivatives_of_the_surface(fitted):
    _, posterior = fitted
    row = TABLE.iloc[[3]]
    found = tunamh.slopes(posterior, row, "x")
    up, down = (tunamh.predict(posterior, row.assign(x=row["x"] + d))["mean"].values[0] for d in (0.01, -0.01))
    assert found["mean"].iloc[0] == pytest.approx((up - down) / 0.02, abs=0.02)
