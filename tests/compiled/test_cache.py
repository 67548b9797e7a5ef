"""A second process starts from the compile cache, and importing stays light."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tunamh.compiled import machinery

SAMPLE_AND_REPORT = """
import numpy as np, tunamh
from tunamh.compiled import Part
from tunamh import acceptance, priors
from tunamh.chains import guard, loop
from tunamh.acceptance import full, thinned
from tunamh.proposals import walks
from tunamh.targets import base, glm
from tunamh.targets.families import logistic
X = np.random.default_rng(0).standard_normal((500, 3))
for test in (tunamh.TunaMH(), tunamh.MH()):
    tunamh.sample(tunamh.LogisticRegression(X, X[:, 0] > 0), test=test, draws=20, tune=20, chains=2, rng=1)
parts = {id(p): p for m in (full, thinned, loop, guard, priors, walks, base, logistic, glm)
         for p in vars(m).values() if isinstance(p, Part) and p._address is not None}
stats = [p.dispatcher.stats for p in parts.values()]
print(sum(sum(s.cache_hits.values()) for s in stats), sum(sum(s.cache_misses.values()) for s in stats), len(parts))
"""


def run(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout


def test_a_second_process_compiles_nothing():
    run(SAMPLE_AND_REPORT)
    hits, misses, parts = map(int, run(SAMPLE_AND_REPORT).split())
    assert parts >= 10
    assert hits == parts
    assert misses == 0


def test_import_loads_nothing_heavy():
    loaded = run("import sys, tunamh; print(*sys.modules)").split()
    heavy = {
        "xarray",
        "arviz_base",
        "arviz_stats",
        "matplotlib",
        "rich",
        "typer",
        "pandas",
        "polars",
        "pyarrow",
        "scipy.stats",
    }
    assert heavy.isdisjoint(loaded)


def test_works_where_no_folder_is_writable(tmp_path):
    """Without a place for the cache everything is compiled in memory, and the import does not fail."""
    code = """
import numba.core.caching as caching
def refuse(*arguments): raise RuntimeError("cannot cache function: no locator available")
caching.CacheImpl.__init__ = refuse
import numpy as np, tunamh
from tunamh.compiled.vector import softplus
print(softplus(0.0))
"""
    assert float(run(code)) == 0.6931471805599453


TWICE = """
import warnings
warnings.simplefilter("always")
from mine import double
print(double(21.0))
"""

MINE = """
from tunamh.compiled import helper

@helper
def double(x):
    return 2.0 * x
"""


@pytest.fixture
def own_cache(tmp_path):
    """Run code that compiles one function into a cache of its own."""
    (tmp_path / "mine.py").write_text(MINE)
    (tmp_path / "cache").mkdir()
    environment = os.environ | {
        "NUMBA_CACHE_DIR": str(tmp_path / "cache"),
        "PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]),
    }

    def start(code=TWICE):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
        assert done.returncode == 0, done.stderr
        return done

    return start, tmp_path / "cache"


@pytest.mark.parametrize("ending", [".nbi", ".nbc"])
@pytest.mark.parametrize("keep", [0, 30])
def test_a_damaged_cache_file_is_compiled_again(own_cache, ending, keep):
    start, folder = own_cache
    start()
    files = list(folder.rglob(f"*{ending}"))
    assert files
    for file in files:
        file.write_bytes(file.read_bytes()[:keep])
    second = start()
    assert float(second.stdout) == 42.0
    assert second.stderr.count("cannot be read") == 1
    assert str(folder) in second.stderr
    third = start()  # what was compiled again took the place of the damaged file
    assert float(third.stdout) == 42.0
    assert third.stderr == ""


def test_a_full_disk_costs_the_cache_alone(own_cache):
    pytest.importorskip("resource")
    start, _ = own_cache
    no_room = """
import resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
"""
    done = start(no_room + TWICE)
    assert float(done.stdout) == 42.0
    assert done.stderr.count("cannot be written") == 1


def test_without_a_compiler_the_error_says_what_to_unset():
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run([sys.executable, "-c", "import tunamh"], capture_output=True, text=True, env=environment)
    assert done.returncode == 1
    assert "ImportError: tunamh needs compiled code, and NUMBA_DISABLE_JIT=1" in done.stderr


@pytest.mark.parametrize("broken", ["sys.stderr = None", "sys.stderr.close()"])
def test_without_stderr_there_is_no_progress_and_no_error(broken):
    code = f"""
import sys, os
os.environ.pop("CI", None)
{broken}
import numpy as np, tunamh
X = np.random.default_rng(0).standard_normal((500, 3))
print(tunamh.sample(tunamh.LogisticRegression(X, X[:, 0] + X[:, 1] > X[:, 2] ** 2), test=tunamh.MH(), draws=20, tune=20,
                    chains=2, rng=1).posterior["theta"].shape)
"""
    assert run(code).strip() == "(2, 20, 3)"


def test_draws_do_not_depend_on_whether_code_was_compiled_or_loaded(tmp_path):
    """A helper with reordered sums existed twice, by itself and inside its caller, with other roundings."""
    script = """
import numpy as np, tunamh
x = np.random.default_rng(8).standard_t(4, 50)
walk = tunamh.FiniteWalk(x, 10)
tree = tunamh.sample(walk, test=tunamh.TunaMH(chi=0.5), draws=400, tune=0, chains=1, rng=7, progressbar=False)
print(tree.sample_stats["acceptance_rate"].values.tobytes().hex())
"""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "PYTHONWARNINGS": "ignore"}
    first, second = (
        subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
        for _ in range(2)
    )
    assert first.stdout == second.stdout


def test_packages_left_out_of_the_cache_s_name_compile_nothing():
    """Compiled code of a package that the name of the cache does not know of would outlive an edit."""
    package = Path(machinery.__file__).parent.parent
    for name in machinery._NOTHING_COMPILED:
        for path in (package / name).rglob("*.py"):
            text = path.read_text()
            assert "..compiled" not in text, path
            assert "njit" not in text, path
