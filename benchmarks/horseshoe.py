"""Logistic regression under a horseshoe prior, 10,000 rows x 50 columns: coefficients and scales in turn, beside NUTS.

    python benchmarks/horseshoe.py [--out benchmarks/results] [--peers PYTHON]

PYTHON is that of the peers' environment (`benchmarks/.peers-venv/bin/python`); NumPyro's NUTS there samples the usual
non-centred form, one chain of 500 draws after 500 of warm-up, which is not counted. Both run on one core, one after the
other. Effective draws per second of the worst coefficient, of the worst log local scale and of the log global scale.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

SCALE, DRAWS = 0.1, 500


def data() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((10_000, 50))
    beta = np.zeros(50)
    beta[:5] = [1, -1, 0.5, 0.2, -0.3]
    return X, (rng.random(10_000) < 1 / (1 + np.exp(-X @ beta))).astype(float)


def nuts(result: Path) -> None:
    """In the peers' environment."""
    import jax
    import jax.numpy as jnp
    import numpyro
    import numpyro.distributions as dist
    from numpyro.infer import MCMC, NUTS

    numpyro.enable_x64()
    X, y = data()

    def model():
        overall = numpyro.sample("global", dist.HalfCauchy(SCALE))
        local = numpyro.sample("local", dist.HalfCauchy(jnp.ones(50)))
        z = numpyro.sample("z", dist.Normal(jnp.zeros(50), 1))
        beta = numpyro.deterministic("beta", z * local * overall)
        numpyro.sample("y", dist.Bernoulli(logits=X @ beta), obs=y)

    sampler = MCMC(NUTS(model), num_warmup=DRAWS, num_samples=DRAWS, progress_bar=False)
    sampler.warmup(jax.random.PRNGKey(0))
    started = time.process_time()
    sampler.run(jax.random.PRNGKey(1))
    seconds = time.process_time() - started
    found = sampler.get_samples()
    np.savez(result, beta=found["beta"], local=found["local"], overall=found["global"], seconds=seconds)


def ours() -> dict[str, np.ndarray]:
    import tunamh

    X, y = data()
    target = tunamh.LogisticRegression(X, y, prior=tunamh.priors.Horseshoe(SCALE))
    tunamh.sample(target, draws=10, chains=1, cores=1, rng=0, progressbar=False)
    tree = tunamh.sample(target, draws=20_000, chains=1, cores=1, rng=1, progressbar=False)
    elapsed = tree.sample_stats["elapsed"].values[0]
    return {
        "beta": tree.posterior["theta"].values[0],
        "local": tree.posterior["local_scale"].values[0],
        "overall": tree.posterior["global_scale"].values[0],
        "seconds": np.array(elapsed[-1] * len(elapsed) / (len(elapsed) - 1)),
        "acceptance": tree.sample_stats["acceptance_rate"].values.mean(),
        "rows": tree.sample_stats["batch_size"].values.mean(),
    }


def rates(found: dict[str, np.ndarray]) -> dict[str, float]:
    import arviz_stats

    def worst(values: np.ndarray) -> float:
        columns = values.reshape(len(values), -1).T
        return min(float(arviz_stats.ess(column[None])) for column in columns) / float(found["seconds"])

    return {
        "coefficients": worst(found["beta"]),
        "log local scales": worst(np.log(found["local"])),
        "log global scale": worst(np.log(found["overall"])),
    }


def main() -> None:
    from common import RESULTS, machine, print_table, write_json

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--peers", default=str(Path(__file__).parent / ".peers-venv" / "bin" / "python"))
    given = parser.parse_args()
    mine = ours()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "nuts.npz"
        subprocess.run([given.peers, __file__, "--nuts", str(file)], check=True)
        theirs = dict(np.load(file))
    one, other = rates(mine), rates(theirs)
    off = np.abs(mine["beta"].mean(axis=0) - theirs["beta"].mean(axis=0)) / mine["beta"].std(axis=0)
    rows = [[name, f"{one[name]:,.0f}", f"{other[name]:,.2f}", f"{one[name] / other[name]:,.0f}"] for name in one]
    about = {key: float(mine[key]) for key in ("acceptance", "rows")} | {"largest_difference_sd": float(off.max())}
    print_table("Effective draws per second", ["", "tunamh", "NUTS", "times"], rows)
    print(", ".join(f"{key} {value:.3g}" for key, value in about.items()))
    write_json(given.out / "horseshoe.json", {"machine": machine(), "tunamh": one, "nuts": other, **about})


if __name__ == "__main__":
    if sys.argv[1:2] == ["--nuts"]:
        nuts(Path(sys.argv[2]))
    else:
        main()
