"""A new built-in family and a new built-in prior take one file each, and one line in the ``__init__`` beside it.

The package is copied, the files and the lines are added to the copy, and a process of its own uses them wherever a
built-in one can be used: by class, by formula, in an estimator, at the shell, in predictions from a file.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import tunamh

PACKAGE = Path(tunamh.__file__).parent

FAMILY = '''
"""Counts of failures before the first success, with a log link: negative binomial ones with a dispersion of 1."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...compiled import FamilyEnergy, FamilyRise, part
from ...compiled.vector import softplus, softplus_rise
from .counts import CountFamily
from .intervals import SIGMOID_SLOPE_PEAKS, SIGMOID_THIRD, SIGMOID_THIRD_PEAKS, nearby, sigmoids
from .likelihood import Suprema
from .responses import ResponseDistribution


@part(FamilyEnergy)
def _energy(n, eta, y, hyper, out):
    for b in range(n):
        out[b] = softplus(eta[b]) + y[b] * softplus(-eta[b])


@part(FamilyRise)
def _rise(n, eta, eta_prop, y, hyper, out):
    for b in range(n):
        out[b] = softplus_rise(eta[b], eta_prop[b]) + y[b] * softplus_rise(-eta[b], -eta_prop[b])


@dataclass(frozen=True)
class Geometric(CountFamily):
    """``f = (1 + y) log(1 + e^eta) - y eta``: mean ``e^eta``."""

    word = "geometric"
    energy, rise = _energy, _rise

    def derivatives(self, eta, y):
        p, q = sigmoids(eta)
        return p - y * q, (1 + y) * p * q, (1 + y) * p * q * (q - p)

    def suprema(self, y):
        """Those of the logistic energy, 1 + y times; f' rises from -y to 1."""
        return Suprema(np.maximum(y, 1.0), 0.25 * (1 + y), SIGMOID_THIRD * (1 + y))

    def suprema_near(self, y, eta, radius):
        peaks = ([(at, top * (1 + y)) for at, top in each] for each in (SIGMOID_SLOPE_PEAKS, SIGMOID_THIRD_PEAKS))
        return nearby(self, y, eta, radius, (), *peaks)

    def response_distribution(self) -> ResponseDistribution:
        from .response_distributions import OfMean, stats

        return OfMean(self.link.mean, lambda m, p: stats.geom(1 / (1 + m), loc=-1), discrete=True)
'''

PRIOR = '''
"""Ridge priors: normal ones by their penalty."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .independent import IndependentPrior
from .laws import NORMAL, Laws


@dataclass(frozen=True)
class Ridge(IndependentPrior):
    """Density ``exp(-penalty theta_j^2 / 2)``."""

    penalty: float = 1.0

    word = "ridge"
    word_numbers = ("penalty",)

    def laws(self, dim: int) -> Laws:
        scale = self.penalty**-0.5
        return Laws(np.full(dim, NORMAL), np.zeros(dim), np.full(dim, scale), np.ones(dim))
'''

USE = """
import sys

import numpy as np
import pandas as pd
import xarray

import tunamh
from tunamh import priors
from tunamh.cli.names import FAMILIES, family_named, priors_named

assert "FOLDER" in tunamh.__file__, tunamh.__file__
rng = np.random.default_rng(3)
x = rng.standard_normal(3000)
mean = np.exp(0.5 + 0.4 * x)
table = pd.DataFrame({"x": x, "y": rng.geometric(1 / (1 + mean)) - 1.0})
given = {"draws": 300, "tune": 300, "chains": 2, "rng": 1, "progressbar": False}

family, prior = tunamh.Geometric(), priors.Ridge(4.0)
X = np.column_stack([np.ones(3000), x])
by_class = tunamh.sample(tunamh.GLM(X, table["y"], family, prior=prior), **given).posterior["theta"].values
assert np.abs(by_class.mean(axis=(0, 1)) - [0.5, 0.4]).max() < 0.12
same = tunamh.GLM(X, table["y"], tunamh.NegativeBinomial(1.0), prior=tunamh.Normal(scale=0.5))
ours, points = tunamh.GLM(X, table["y"], family, prior=prior), np.array([[0.2, 0.1], [1.0, -0.5]])
np.testing.assert_allclose(np.diff(ours.energies_at(points)), np.diff(same.energies_at(points)))
assert tunamh.check_bounds(tunamh.GLM(X, table["y"], family), rng=1) <= 1

target = tunamh.regression("y ~ x", table, family=family, prior={"x": prior})
assert target.coefficient_prior.laws.scale[1] == 0.5
posterior = tunamh.sample(target, **given)
posterior.to_netcdf("FOLDER/result.nc")
found = tunamh.predict(xarray.open_datatree("FOLDER/result.nc"), table.head(50))["mean"].values
np.testing.assert_allclose(found, mean[:50], rtol=0.25)
draws = tunamh.predict(posterior, table.head(50), kind="response", quantiles=None, rng=1).values
assert (draws >= 0).all() and (draws == np.round(draws)).all()
assert np.isfinite(tunamh.loo(posterior, table, rows=100, rng=1).elpd)

assert "geometric" in FAMILIES
assert family_named("geometric") == family
assert priors_named(["x=ridge(4)"]) == {"x": prior}
try:
    priors.ByName({"x": 3})
except TypeError as error:
    assert "Ridge" in str(error), error
try:
    tunamh.GLM(X, table["y"], family, trials=np.ones(3000))
except TypeError as error:
    assert "Geometric has no labels" in str(error)

if "sklearn" in sys.argv:
    fitted = tunamh.BayesianGLM(family, draws=200, tune=200, chains=2, random_state=1).fit(X[:, 1:], table["y"])
    np.testing.assert_allclose(fitted.predict(X[:50, 1:]), mean[:50], rtol=0.25)
    assert fitted.__sklearn_tags__().target_tags.positive_only
print("used")
"""


def copied(folder):
    package = folder / "tunamh"
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__", "*.nbi", "*.nbc"))
    return package


def add(package, where, module, name, text):
    """One file, and one line; how many files of the copy are not as they were."""
    (package / where / f"{module}.py").write_text(text.lstrip("\n"))
    init = package / where / "__init__.py"
    lines = init.read_text().splitlines(keepends=True)
    last = max(k for k, line in enumerate(lines) if line.startswith("from .") and " as _" not in line)
    init.write_text("".join([*lines[: last + 1], f"from .{module} import {name} as {name}\n", *lines[last + 1 :]]))


def used(folder, with_sklearn):
    script = USE.replace("FOLDER", str(folder))
    environment = {**os.environ, "PYTHONPATH": str(folder), "PYTHONWARNINGS": "ignore"}
    words = ["sklearn"] if with_sklearn else []
    return subprocess.run(
        [sys.executable, "-c", script, *words], env=environment, cwd=folder, capture_output=True, text=True
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    found = tmp_path_factory.mktemp("package")
    copied(found)
    return found


def has_sklearn():
    from importlib.util import find_spec

    return find_spec("sklearn") is not None


def test_nothing_is_known_of_them_before(folder):
    """Without its line a file is not part of the package: the use that is asked for below can fail."""
    missing = used(folder, False)
    assert "has no attribute 'Geometric'" in missing.stderr


def test_one_file_and_one_line_each(folder):
    pytest.importorskip("pandas")
    before = {path: path.read_bytes() for path in (folder / "tunamh").rglob("*.py")}
    add(folder / "tunamh", "targets/families", "geometric", "Geometric", FAMILY)
    add(folder / "tunamh", "priors", "ridge", "Ridge", PRIOR)
    now = {path: path.read_bytes() for path in (folder / "tunamh").rglob("*.py")}
    assert len(now.keys() - before.keys()) == 2
    changed = [path for path in before if now[path] != before[path]]
    assert [path.name for path in changed] == ["__init__.py"] * 2
    assert [len(now[path].splitlines()) - len(before[path].splitlines()) for path in changed] == [1, 1]
    done = used(folder, has_sklearn())
    assert done.stdout.endswith("used\n"), done.stderr[-3000:]
