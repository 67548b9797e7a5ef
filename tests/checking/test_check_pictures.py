"""Pictures of checks: the ones that go with the family, as numbers and with matplotlib."""

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from own_data import sampled

import tunamh
from tunamh.checking.panels import panels_of

mpl.use("Agg")
pytestmark = pytest.mark.filterwarnings("ignore::tunamh.ConvergenceWarning")
RNG = np.random.default_rng(9)
N = 600
X = RNG.normal(size=N)
TABLE = pd.DataFrame({"x": X, "z": RNG.uniform(size=N), "g": [f"g{k}" for k in RNG.integers(12, size=N)]})
TIME, END = np.exp(X) * RNG.weibull(1.5, N), RNG.exponential(2.0, N)
RESPONSES = {
    "gaussian": X + RNG.normal(size=N),
    "logistic": (RNG.random(N) < 1 / (1 + np.exp(-X))).astype(int),
    "poisson": RNG.poisson(np.exp(0.5 * X)),
    "categorical": RNG.choice(["bus", "car", "foot"], N),
    "weibull": np.minimum(TIME, END),
}
TITLES = {
    "gaussian": ["Distribution of residuals", "Residuals", "Residuals along x", "Residuals along z"],
    "logistic": ["Calibration", "Residuals along x", "Residuals along z"],
    "poisson": ["Rootogram", "Distribution of residuals", "Residuals", "Residuals along x", "Residuals along z"],
    "categorical": ["Calibration of bus", "Calibration of car", "Calibration of foot"],
    "weibull": ["Survival", "Distribution of residuals", "Residuals", "Residuals along x", "Residuals along z"],
}


def checked(family, y=None, formula=None):
    table = TABLE.assign(y=RESPONSES[family] if y is None else y, c=(TIME > END).astype(int))
    left = "y | cens(c)" if family == "weibull" else "y"
    return tunamh.check(sampled(formula or f"{left} ~ x + z", table, family), table)


@pytest.mark.parametrize("family", RESPONSES)
def test_pictures_go_with_the_family(family):
    found = checked(family)
    panels = panels_of(found)
    assert [one.title for one in panels] == TITLES[family]
    for one in panels:
        assert len(one.x) == len(one.points)
        assert len(one.line_x) == len(one.line) == len(one.low) == len(one.high)
        assert np.isfinite(one.points).all()
        assert (one.low <= one.line + 1e-9).all() and (one.line <= one.high + 1e-9).all()  # noqa: PT018
        band = np.interp(one.x, one.line_x, one.low), np.interp(one.x, one.line_x, one.high)
        inside = (one.points >= band[0] - 1e-9) & (one.points <= band[1] + 1e-9)
        assert inside.mean() > 0.8  # of 95 %


def test_points_leave_the_band_where_the_model_is_wrong():
    for family, y, title in (
        ("poisson", RNG.negative_binomial(1, 1 / (1 + np.exp(0.5 * X))), "Rootogram"),
        ("logistic", (RNG.random(N) < 1 / (1 + np.exp(1 - X * X))).astype(int), "Residuals along x"),
        ("gaussian", X + RNG.standard_t(2, N), "Distribution of residuals"),
    ):
        (one,) = (panel for panel in panels_of(checked(family, y)) if panel.title == title)
        inside = (one.points >= one.low) & (one.points <= one.high)
        assert inside.mean() < 0.8, title


def test_groups_have_a_picture_of_their_means():
    found = checked("gaussian", formula="y ~ x + (1 | g)")
    last = panels_of(found)[-1]
    assert last.title == "Means of g"
    assert len(last.names) == 12
    assert (np.diff(last.points) >= 0).all()


def test_matplotlib_draws_them():
    found = checked("poisson")
    axes = tunamh.plot_check(found)
    assert [ax.get_title() for ax in axes] == TITLES["poisson"]
    alone = tunamh.plot_check(found, which="Rootogram")
    assert alone.get_ylabel() == "rows (root scale)"
    assert tunamh.plot_check(found, which="Residuals", ax=alone) is alone
    with pytest.raises(ValueError, match="which= is one of 'Rootogram'"):
        tunamh.plot_check(found, which="Leverage")
    with pytest.raises(ValueError, match="one Axes has room for one picture"):
        tunamh.plot_check(found, ax=alone)
    with pytest.raises(TypeError, match=r"the result of tunamh\.check\(posterior, data\)"):
        tunamh.plot_check(TABLE)
    plt.close("all")
