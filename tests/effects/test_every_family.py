"""Averages and contrasts of every family equal direct computation over all rows and draws."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from drawn_results import drawn_result
from scipy import integrate, special, stats

import tunamh
from tunamh.prediction.fitted import Fitted
from tunamh.results.layout import PARAMETER, ROLE
from tunamh.targets.families.base import Responses
from tunamh.targets.families.registry import FAMILIES

RNG = np.random.default_rng(21)
N = 60
TABLE = pd.DataFrame(
    {
        "x": RNG.normal(1, 1.5, N),
        "a": RNG.choice(["p", "q", "r"], N),
        "site": RNG.choice([f"s{k}" for k in range(5)], N),
        "w": RNG.uniform(0, 2, N),
        "month": RNG.integers(1, 4, N),
    }
)
RESPONSES = {
    Responses.LABELS: RNG.integers(0, 2, N).astype(float),
    Responses.REALS: RNG.standard_normal(N),
    Responses.COUNTS: RNG.poisson(2.0, N).astype(float),
    Responses.POSITIVE: RNG.gamma(2.0, 1.0, N),
    Responses.PROPORTIONS: RNG.beta(2, 2, N),
    Responses.CLASSES: RNG.integers(0, 3, N),
}
CUTS = (0.8, 2.5)
OF_COUNTS = {"ZeroInflated": tunamh.NegativeBinomial(), "Hurdle": tunamh.Poisson()}


def family_of(name):
    if name == "PiecewiseExponential":
        return tunamh.PiecewiseExponential(CUTS)
    return FAMILIES[name](*([OF_COUNTS[name]] if name in OF_COUNTS else []))


def mean_of(name, eta, p):
    """The mean of the response, written down once more. ``p`` has (draws, 1) parameters; classes have an axis more."""
    plain = {
        "Logistic": special.expit,
        "Beta": special.expit,
        "Probit": stats.norm.cdf,
        "Cloglog": lambda e: 1 - np.exp(-np.exp(e)),
        "SoftplusPoisson": lambda e: np.log1p(np.exp(e)),
        "Weibull": lambda e: np.exp(e) * special.gamma(1 + 1 / p["shape"]),
        "LogNormal": lambda e: np.exp(e + p["scale"] ** 2 / 2),
        "LogLogistic": lambda e: np.exp(e) * np.pi * p["scale"] / np.sin(np.pi * p["scale"]),
        "Hurdle": lambda e: p["positive"] * np.exp(e) / -np.expm1(-np.exp(e)),
        "ZeroInflated": lambda e: (1 - p["inflation"]) * np.exp(e),
    }
    if name in plain:
        return plain[name](eta)[..., None]
    if name == "PiecewiseExponential":  # the integral of the survival function, piece by piece
        left = np.append(0.0, p["cuts"])
        hazard, before, mean = np.exp(p["log_hazard"])[:, :, None], 0.0, 0.0
        for j in range(len(left)):
            rate, wide = np.exp(eta) * hazard[:, j], left[j + 1] - left[j] if j + 1 < len(left) else np.inf
            mean = mean + np.exp(-before) * -np.expm1(-rate * wide) / rate
            before = before + rate * wide
        return mean[..., None]
    if name == "Ordinal":
        below = special.expit(p["cutpoint"][:, None, :] - eta[..., None])
        ends = np.zeros((*eta.shape, 1)), np.ones((*eta.shape, 1))
        return np.diff(np.concatenate([ends[0], below, ends[1]], axis=-1), axis=-1)
    if name == "PiecewiseExponential":  # the integral of the survival, piece by piece
        alive, total = 1.0, 0.0
        for j, width in enumerate((CUTS[0], CUTS[1] - CUTS[0], np.inf)):
            rate = np.exp(eta + p["log_hazard"][:, j : j + 1])
            total, alive = total + alive * -np.expm1(-rate * width) / rate, alive * np.exp(-rate * width)
        return total[..., None]
    if name == "Categorical":
        weights = np.exp(np.concatenate([np.zeros((*eta.shape[:-1], 1)), eta], axis=-1))
        return weights / weights.sum(axis=-1, keepdims=True)
    return (np.exp(eta) if FAMILIES[name].link.name == "log" else eta)[..., None]


class Direct:
    """Draws of a result, and means of rows by hand."""

    def __init__(self, name, grouped):
        self.name, self.grouped = name, grouped
        self.table = TABLE.assign(y=RESPONSES[FAMILIES[name].responses])
        if name == "Ordinal":
            self.table["y"] = pd.Categorical(self.table["y"], ordered=True)
        formula = "y ~ x*a" + " + (1 + x | site)" * grouped
        self.target = tunamh.regression(formula, self.table, family=family_of(name))
        self.result = drawn_result(self.target)
        posterior = self.result["posterior"]
        self.draws = {
            str(key): values.values.reshape(-1, *values.shape[2:]) for key, values in posterior.data_vars.items()
        }
        self.p = {
            values.attrs["term"]: self.draws[key] if values.ndim > 2 else self.draws[key][:, None]
            for key, values in posterior.data_vars.items()
            if values.attrs.get(ROLE) == PARAMETER
        }

        if name == "PiecewiseExponential":
            self.p["cuts"] = Fitted.open(self.result, None).responses.inner

    def columns(self, table):
        x = table["x"].to_numpy(float)
        q, r = ((table["a"] == level).to_numpy(float) for level in "qr")
        return np.column_stack([np.ones(len(table)), x, q, r, x * q, x * r])

    def eta(self, table, groups=None):
        """(draws, rows), or (draws, rows, classes - 1)."""
        own, X = self.draws, self.columns(table)
        start = [own["Intercept"]] if "Intercept" in own else []
        parts = [*start, own["x"], *np.moveaxis(own["a"], -1, 0), *np.moveaxis(own["x:a"], -1, 0)]
        if self.name == "Categorical":  # (draws, level, class)
            levels = [own["a"][:, k] for k in (0, 1)] + [own["x:a"][:, k] for k in (0, 1)]
            theta = np.stack([own["Intercept"], own["x"], *levels], axis=1)
            eta = np.einsum("nd,sdk->snk", X, theta)
            if groups == "known":
                code = [int(site[1:]) for site in table["site"]]
                eta = eta + own["1|site"][:, code] + own["x|site"][:, code] * table["x"].to_numpy()[:, None]
            return eta
        eta = np.stack(parts, axis=1) @ (X if start else X[:, 1:]).T
        if groups == "known":
            code = [int(site[1:]) for site in table["site"]]
            eta = eta + own["1|site"][:, code] + own["x|site"][:, code] * table["x"].to_numpy()
        return eta

    def tau(self, table):
        x, own = table["x"].to_numpy(), self.draws
        if self.name == "Categorical":
            x = x[:, None]
        s, t, rho = (own[key][:, None] for key in ("1|site_sigma", "x|site_sigma", "1,x|site_corr"))
        return np.sqrt(s**2 + 2 * rho * s * t * x + t**2 * x**2)

    def mean(self, table, groups=None):
        if groups != "new":
            return mean_of(self.name, self.eta(table, groups), self.p)
        eta, tau = self.eta(table), self.tau(table)
        if self.name == "Categorical":  # two dimensions, by a finer rule
            at = np.linspace(-9, 9, 85)
            pairs = [(np.array(pair), stats.norm.pdf(pair).prod() * (at[1] - at[0]) ** 2) for pair in product(at, at)]
            return sum(weight * mean_of(self.name, eta + tau * pair, self.p) for pair, weight in pairs)

        def weighted(z):
            return mean_of(self.name, eta + tau * z, self.p) * stats.norm.pdf(z)

        return integrate.quad_vec(weighted, -14, 14, epsabs=1e-11, epsrel=1e-11)[0]


@pytest.fixture(
    scope="module", params=list(product(FAMILIES, [False, True])), ids=lambda p: f"{p[0]}{p[1] * '-groups'}"
)
def direct(request):
    name, grouped = request.param
    return Direct(name, grouped)


def flat(table):
    return table.draws.values.reshape(-1, len(table))


def same(table, wanted):
    """``wanted`` (draws, items, outcomes) are the lines one after another."""
    wanted = np.concatenate([one.reshape(len(one), -1) for one in wanted], axis=1)
    np.testing.assert_allclose(flat(table), wanted, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(table["mean"], wanted.mean(axis=0), rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(table["sd"], wanted.std(axis=0), rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(table.filter(like="eti89"), np.quantile(wanted, [0.055, 0.945], axis=0).T, rtol=1e-8)


def test_averages_are_those_of_all_rows_and_draws(direct):
    t, groups = direct.table, "known" if direct.grouped else None
    values = direct.mean(t, groups)
    same(tunamh.predictions(direct.result, t, average_by=True), [values.mean(axis=1, keepdims=True)])
    w = t["w"].to_numpy()
    by_month = [
        np.average(values[:, t["month"] == month], axis=1, weights=w[t["month"] == month])[:, None]
        for month in (1, 2, 3)
    ]
    found = tunamh.predictions(direct.result, t, average_by="month", weights="w")
    same(found, [np.concatenate(by_month, axis=1)])
    if found.attrs["of"] == ["month", "class"]:
        assert found["class"].tolist() == ["0", "1", "2"] * 3


def test_contrasts_are_differences_and_ratios_of_averages(direct):
    t, groups = direct.table, "known" if direct.grouped else None
    at = {level: direct.mean(t.assign(a=level), groups) for level in "pqr"}
    found = tunamh.comparisons(direct.result, t, "a", average_by=True)
    same(found, [(at[level] - at["p"]).mean(axis=1, keepdims=True) for level in "qr"])
    means = {level: values.mean(axis=1, keepdims=True) for level, values in at.items()}
    pairs = [("q", "p"), ("r", "p"), ("r", "q")]
    found = tunamh.comparisons(direct.result, t, {"a": "pairwise"}, average_by=True, comparison="ratio")
    same(found, [means[high] / means[low] for high, low in pairs])
    each = tunamh.comparisons(direct.result, t.head(4), {"a": [("q", "r")]})
    same(each, [(at["r"] - at["q"])[:, :4]])
    moved = direct.mean(t.assign(x=t["x"] + 2), groups) - direct.mean(t, groups)
    same(tunamh.comparisons(direct.result, t, {"x": 2}, average_by=True), [moved.mean(axis=1, keepdims=True)])


def test_grids_have_typical_values_elsewhere(direct):
    grid = pd.DataFrame({"x": [0.0, 1.0, 0.0, 1.0], "a": ["q", "q", "r", "r"]})
    found = tunamh.predictions(direct.result, conditional={"a": ["q", "r"], "x": [0, 1]})
    same(found, [direct.mean(grid)])
    points = [["q", 0], ["q", 1], ["r", 0], ["r", 1]]
    assert found[["a", "x"]].drop_duplicates().to_numpy().tolist() == points
    most = direct.table["a"].value_counts().idxmax()
    typical = pd.DataFrame({"x": [direct.table["x"].mean()], "a": [most]})
    same(tunamh.predictions(direct.result), [direct.mean(typical)])
    given = direct.table.head(20)
    typical = pd.DataFrame({"x": [given["x"].mean()], "a": ["p"]})
    same(tunamh.predictions(direct.result, given, {"a": "p"}), [direct.mean(typical)])


def test_slopes_are_derivatives(direct):
    t, groups, h = direct.table, "known" if direct.grouped else None, 1e-4
    up, down = (direct.mean(t.assign(x=t["x"] + k * h), groups) for k in (1, -1))
    found = flat(tunamh.slopes(direct.result, t, "x", average_by="a"))
    wanted = [((up - down) / (2 * h))[:, (t["a"] == level).to_numpy()].mean(axis=1) for level in "pqr"]
    np.testing.assert_allclose(found, np.concatenate(wanted, axis=1), rtol=1e-5, atol=1e-7)


def test_new_groups_are_integrated_over_their_law(direct):
    if not direct.grouped:
        return
    t = direct.table.head(12)
    values = direct.mean(t, "new")
    same(tunamh.predictions(direct.result, t, groups="new"), [values])
    without = t.drop(columns="site")  # new groups need no names
    same(tunamh.predictions(direct.result, without, groups="new", average_by=True), [values.mean(1, keepdims=True)])
    same(tunamh.predictions(direct.result, without, groups="population"), [direct.mean(t)])


def test_the_scale_of_the_link_has_coefficients(direct):
    t = direct.table
    found = tunamh.comparisons(direct.result, t, "a", {"x": 0.0}, average_by=True, scale="link")
    a = direct.draws["a"]
    np.testing.assert_allclose(flat(found), a.reshape(len(a), -1), rtol=1e-9, atol=1e-12)
