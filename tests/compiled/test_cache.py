"""A second process starts from the compile cache, and importing stays light."""

import os
import subprocess
import sys

import pytest

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
import tempfile
def refuse(*arguments, **more): raise PermissionError("read-only file system")
tempfile.TemporaryFile = refuse
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


@pytest.mark.parametrize("keep", [0, 30])
def test_a_damaged_cache_file_is_compiled_again(own_cache, keep):
    start, folder = own_cache
    start()
    files = list(folder.rglob("*.nbc"))
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
    command = [sys.executable, "-c", "from tunamh import sample"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
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


# ------------------------------------------------------------------------------------- what machine code is made of

LIBRARY = """
from typing import Any, NamedTuple
from tunamh.compiled import helper
from constants import FACTOR

class Pair(NamedTuple):
    first: Any
    second: Any

@helper
def inner(x):
    return x * FACTOR

def maker(k):
    @helper
    def made(x):
        return inner(x) + k
    return made

@helper
def outer(x):
    return inner(x) + 1.0

@helper
def second(pair):
    return pair.second
"""

CALLS = """
from library import Pair, inner, maker, outer, second
tens, hundreds = maker(10.0), maker(100.0)
print(outer(2.0), tens(2.0), hundreds(2.0), second(Pair(1.0, 2.0)))
functions = [one for f in (inner, outer, tens, hundreds, second) for one in (f, f.inner)]
print(sum(sum(f.stats.cache_misses.values()) for f in functions))
"""


@pytest.fixture
def library(own_cache, tmp_path):
    """Write a library with edits, call its functions in a new process: results, and how many were compiled."""
    start, _ = own_cache

    def called(factor="2.0", **edits):
        (tmp_path / "constants.py").write_text(f"FACTOR = {factor}\n")
        text = LIBRARY
        for old, new in edits.values():
            assert old in text
            text = text.replace(old, new)
        (tmp_path / "library.py").write_text(text)
        results, compiled = start("import sys; sys.dont_write_bytecode = True\n" + CALLS).stdout.splitlines()
        return list(map(float, results.split())), int(compiled)

    return called


def test_compiled_code_is_found_again_functions_made_by_functions_too(library):
    first, compiled = library()
    assert first == [5.0, 14.0, 104.0, 2.0]
    assert compiled == 5
    assert library() == (first, 0)


def test_an_edit_compiles_what_depends_on_it_and_nothing_else(library):
    library()
    assert library(edit=("+ 1.0", "+ 3.0")) == ([7.0, 14.0, 104.0, 2.0], 1)
    assert library(edit=("x * FACTOR", "x * FACTOR * FACTOR")) == ([9.0, 18.0, 108.0, 2.0], 4)


def test_a_constant_of_another_file_is_part_of_the_code(library):
    library()
    assert library("3.0") == ([7.0, 16.0, 106.0, 2.0], 4)


def test_lines_and_docstrings_are_no_part_of_the_code(library):
    first, _ = library()
    edit = ("def inner(x):\n", 'def inner(x):\n    """Twice."""\n\n    # more\n')
    assert library(edit=edit) == (first, 0)


def test_the_order_of_a_named_tuple_s_fields_is_part_of_the_code(library):
    library()
    swapped = ("    first: Any\n    second: Any", "    second: Any\n    first: Any")
    assert library(edit=swapped) == ([5.0, 14.0, 104.0, 1.0], 1)
