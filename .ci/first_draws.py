"""A newcomer's first minute, in an environment that has the package and nothing else of ours."""

import sys
import tempfile
import time
from pathlib import Path

import numpy as np

began = time.perf_counter()
import tunamh  # noqa: E402

imported = time.perf_counter()
rng = np.random.default_rng(0)
truth = np.array([-1.0, 0.0, 0.5])
X = rng.standard_normal((50_000, 3))
y = rng.random(50_000) < 1 / (1 + np.exp(-X @ truth))
posterior = tunamh.sample(tunamh.LogisticRegression(X, y), rng=1, progressbar=False)
first = time.perf_counter()
mean = posterior.posterior["theta"].mean(("chain", "draw")).values
assert np.abs(mean - truth).max() < 0.06, mean  # five standard errors
assert posterior.posterior.attrs["exact"] == 1
assert "theta[0]" in str(tunamh.summary(posterior))
with tempfile.TemporaryDirectory() as folder:
    posterior.to_netcdf(Path(folder) / "posterior.nc")
python = ".".join(map(str, sys.version_info[:3]))
print(f"  Python {python}: import {imported - began:.1f} s, first posterior, compiled, {first - imported:.1f} s")
