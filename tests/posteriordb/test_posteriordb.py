"""The comparison with posteriordb, on a small database of our own: a regression whose posterior has a closed form.

`make exactness POSTERIORDB=path` compares with the reference draws of the real one.
"""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from pathlib import Path

import compare
import numpy as np
import pytest
from database import Database, NotThere

import tunamh
from long_form import limit
from models import MODELS, ones_and, regression

_rng = np.random.default_rng(3)
N = 40
HEIGHT = _rng.normal(2, 1, N)
EARN = 1 + 0.5 * HEIGHT + 2 * _rng.standard_normal(N)


def exact_draws(size: int) -> dict[str, np.ndarray]:
    """Flat priors of coefficients and scale: ``sigma^2`` is inverse gamma, and coefficients are normal given it."""
    X = ones_and(HEIGHT)
    centre, (left,) = np.linalg.lstsq(X, EARN, rcond=None)[:2]
    sigma = np.sqrt(left / 2 / _rng.gamma((N - 3) / 2, size=size))
    root = np.linalg.cholesky(np.linalg.inv(X.T @ X))
    beta = centre + sigma[:, None] * (_rng.standard_normal((size, 2)) @ root.T)
    return {"beta[1]": beta[:, 0], "beta[2]": beta[:, 1], "sigma": sigma}


def packed(path: Path, value: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(path.stem, json.dumps(value))


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """One posterior that is known, one whose model is not, one without reference draws."""
    root = tmp_path_factory.mktemp("copy")
    folder = root / "posterior_database"
    (folder / "posteriors").mkdir(parents=True)
    for name, model, reference in (("small", "earn_height", "small"), ("odd", "rocket", "odd"), ("none", "nes", None)):
        about = {"name": name, "model_name": model, "data_name": "small", "reference_posterior_name": reference}
        (folder / f"posteriors/{name}.json").write_text(json.dumps(about))
    packed(folder / "data/data/small.json.zip", {"N": N, "earn": EARN.tolist(), "height": HEIGHT.tolist()})
    chains = [{name: one.tolist() for name, one in exact_draws(1000).items()} for _ in range(10)]
    packed(folder / "reference_posteriors/draws/draws/small.json.zip", chains)
    return root


def test_the_known_posterior_agrees(root):
    found = {line["posterior"]: line for line in compare.all_compared(Database(root), lambda name: True)}
    assert set(found) == {"small", "odd"}
    assert "no model" in found["odd"]["left out"]
    small = found["small"]
    assert (small["parameters"], small["comparisons"]) == (3, 12)
    assert small["largest"] < limit(12)
    assert 0.3 < small["rms"] < 1.8


@pytest.mark.parametrize(
    "wrong", [{"scale": tunamh.priors.OnVariance(tunamh.HalfNormal(3))}, {"prior": tunamh.Normal(scale=1)}]
)
def test_a_wrong_prior_is_found(root, monkeypatch, wrong):
    monkeypatch.setitem(MODELS, "earn_height", lambda d: regression(d.earn, ones_and(d.height), **wrong))
    (line,) = compare.all_compared(Database(root), lambda name: name == "small")
    assert line["largest"] > 2 * limit(12)


def test_another_name_is_an_error_not_a_pass(root, monkeypatch):
    monkeypatch.setitem(MODELS, "earn_height", lambda d: regression(d.earn, ones_and(d.height), ["a", "b"]))
    (line,) = compare.all_compared(Database(root), lambda name: name == "small")
    assert "parameters are" in line["error"]


def test_bare_repositories_are_read(root, tmp_path):
    git = ["git", "-C", str(root), "-c", "user.name=a", "-c", "user.email=a@b"]
    for words in (
        ["init", "-q"],
        ["add", "."],
        ["commit", "-qm", "all"],
        ["clone", "-q", "--bare", ".", str(tmp_path)],
    ):
        subprocess.run([*git, *words], check=True, capture_output=True)
    plain, bare = Database(root), Database(tmp_path)
    assert plain.posteriors() == bare.posteriors()
    odd, small = bare.posteriors()
    assert np.array_equal(bare.draws(small)["sigma"], Database(root / "posterior_database").draws(small)["sigma"])
    for database in (plain, bare):
        with pytest.raises(NotThere, match="odd"):
            database.draws(odd)


def test_the_script_writes_a_table(root, tmp_path):
    page, out = tmp_path / "page.md", tmp_path / "out.json"
    page.write_text("before\n<!-- posteriordb: begin -->\nold\n<!-- posteriordb: end -->\nafter\n")
    script = Path(__file__).with_name("run.py")
    asked = ["--posteriordb", str(root), "--json", str(out), "--page", str(page)]
    done = subprocess.run([sys.executable, str(script), *asked], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "left out odd" in done.stdout
    text = page.read_text()
    assert text.startswith("before\n")
    assert text.endswith("end -->\nafter\n")
    assert "| small | 3 | 12 |" in text
    assert "old" not in text
    assert json.loads(out.read_text())[1]["where"].split(" of ")[1] in ("beta[1]", "beta[2]", "sigma")
