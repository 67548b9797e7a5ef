"""A second process starts from the compile cache, and importing stays light."""

import subprocess
import sys

SAMPLE_AND_REPORT = """
import numpy as np, tunamh
from tunamh._jit import Part
from tunamh import acceptance, chain, guard, priors, proposals
from tunamh.acceptance import full, thinned
from tunamh.targets import base, glm
from tunamh.targets.families import binary
X = np.random.default_rng(0).standard_normal((500, 3))
for test in (tunamh.TunaMH(), tunamh.MH()):
    tunamh.sample(tunamh.LogisticRegression(X, X[:, 0] > 0), test=test, draws=20, tune=20, chains=2, rng=1)
parts = {id(p): p for m in (full, thinned, chain, guard, priors, proposals, base, binary, glm)
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
from tunamh._vector import softplus
print(softplus(0.0))
"""
    assert float(run(code)) == 0.6931471805599453
