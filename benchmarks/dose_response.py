"""A dose-response curve of a million rows beside NUTS on ten thousand.

    python benchmarks/dose_response.py [--peers PYTHON] [--out benchmarks/results]

    curve = top * dose / (ed50 + dose),  top ~ weight,  log ed50 and log sigma numbers,  normal errors

tunamh on 10^4, 10^5 and 10^6 rows, one chain; NumPyro's NUTS (``--peers`` is a Python that has it) on 10^4 rows, the
same likelihood and the same priors, in double precision, one chain on one core. Seconds are those of the processor, as
other work may run beside. Effective draws are those of the worst parameter per second of sampling, without set-up,
compilation and warm-up; means are compared in posterior standard deviations.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

FEW, MANY, LARGE, DRAWS, THIN = 10_000, 100_000, 1_000_000, 20_000, 1000
NUTS_DRAWS, NUTS_WARMUP = 2000, 1000
TOP, SLOPE, WIDE = (5.0, 3.0), 0.25, 2.5  # priors


def data(rows: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(1)
    weight = rng.standard_normal(rows)
    weight -= weight.mean()
    dose = rng.choice([0.3, 1.0, 3.0, 10.0, 30.0], rows)
    curve = (5 + 0.5 * weight) * dose / (np.exp(1.0) + dose)
    return {"weight": weight, "dose": dose, "y": curve + 0.5 * rng.standard_normal(rows)}


def hill(top, log_ed50, log_sigma, y, dose):
    curve = top * dose / (np.exp(log_ed50) + dose)
    return log_sigma + 0.5 * ((y - curve) * np.exp(-log_sigma)) ** 2


# -------------------------------------------------------------------------------------------------------------- NUTS


def nuts(out: Path) -> None:
    """In the peers' environment."""
    import jax
    import jax.numpy as jnp
    import numpyro
    import numpyro.distributions as dist

    jax.config.update("jax_enable_x64", True)
    rows = {name: jnp.asarray(column) for name, column in data(FEW).items()}

    def model() -> None:
        top = numpyro.sample("top", dist.Normal(*TOP))
        slope = numpyro.sample("slope", dist.Normal(0.0, SLOPE))
        log_ed50 = numpyro.sample("log_ed50", dist.Normal(0.0, WIDE))
        log_sigma = numpyro.sample("log_sigma", dist.Normal(0.0, WIDE))
        curve = (top + slope * rows["weight"]) * rows["dose"] / (jnp.exp(log_ed50) + rows["dose"])
        numpyro.sample("y", dist.Normal(curve, jnp.exp(log_sigma)), obs=rows["y"])

    kernel = numpyro.infer.NUTS(model)
    mcmc = numpyro.infer.MCMC(kernel, num_warmup=NUTS_WARMUP, num_samples=NUTS_DRAWS, progress_bar=False)
    mcmc.warmup(jax.random.PRNGKey(0))
    mcmc.run(jax.random.PRNGKey(1))  # compiles
    began = time.process_time()
    mcmc.run(jax.random.PRNGKey(2))
    found = mcmc.get_samples()
    draws = np.stack([np.asarray(found[name]) for name in ("top", "slope", "log_ed50", "log_sigma")], axis=1)
    np.savez(out, draws=draws, seconds=time.process_time() - began)


# ------------------------------------------------------------------------------------------------------------ tunamh


def ours(rows: int) -> dict[str, Any]:
    from common import min_ess

    tree, few, wall = _run(rows, DRAWS)
    _, many, _ = _run(rows, DRAWS, thin=THIN)  # draws take so little that the others are the error of a set-up
    posterior, stats = tree.posterior, tree.sample_stats
    names = ["top_Intercept", "top_weight", "log_ed50_Intercept", "log_sigma_Intercept"]
    draws = np.stack([posterior[name].values[0] for name in names], axis=1)
    per_step = (many - few) / (DRAWS * (THIN - 1))
    return {
        "rows": rows,
        "draws": draws,
        "set-up": few - DRAWS * per_step,
        "microseconds per step": 1e6 * per_step,
        "seconds, all": wall,
        "rows per draw": float(stats["batch_size"].mean()),
        "accepted": float(stats["accepted"].mean()),
        "rate": min_ess(draws) / (DRAWS * per_step),
    }


def _run(rows: int, draws: int, thin: int = 1) -> tuple[Any, float, float]:
    import tunamh

    normal = tunamh.Normal
    prior = {"top": normal(mean=TOP[0], scale=TOP[1]), "top weight": normal(scale=SLOPE)}
    formulas = {"top": "~ weight", "log_ed50": "~ 1", "log_sigma": "~ 1"}
    table, began, wall = data(rows), time.process_time(), time.perf_counter()
    target = tunamh.nonlinear(hill, table, formulas, prior=prior)
    tree = tunamh.sample(target, draws=draws, thin=thin, chains=1, cores=1, rng=1, progressbar=False)
    return tree, time.process_time() - began, time.perf_counter() - wall


def main() -> None:
    from common import HERE, RESULTS, machine, min_ess, number, print_table, write_json

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--peers", default=str(HERE / ".peers-venv" / "bin" / "python"))
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    _run(1000, 100)  # compiles
    found = [ours(rows) for rows in (FEW, MANY, LARGE)]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "nuts.npz"
        one_core = {"XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false", "OMP_NUM_THREADS": "1"}
        subprocess.run([given.peers, __file__, "--nuts", str(file)], check=True, env=one_core)
        with np.load(file) as kept:
            theirs, seconds = kept["draws"], float(kept["seconds"])
    off = np.abs(found[0]["draws"].mean(axis=0) - theirs.mean(axis=0)) / theirs.std(axis=0)
    other = {"rows": FEW, "rate": min_ess(theirs) / seconds, "largest difference of means, in sds": float(off.max())}
    shown = [{key: value for key, value in one.items() if key != "draws"} for one in found]
    print_table(
        "A dose-response curve; effective draws per CPU second",
        ["sampler", "rows", "set-up, CPU s", "rows per draw", "accepted", "effective draws / CPU s"],
        [
            ["tunamh", *map(number, (r["rows"], r["set-up"], r["rows per draw"], r["accepted"], r["rate"]))]
            for r in shown
        ]
        + [["NUTS", number(FEW), "", number(FEW), "", number(other["rate"])]],
    )
    print(f"largest difference of means: {off.max():.3f} standard deviations")
    write_json(given.out / "dose_response.json", {"machine": machine(), "tunamh": shown, "nuts": other})


if __name__ == "__main__":
    if sys.argv[1:2] == ["--nuts"]:
        nuts(Path(sys.argv[2]))
    else:
        main()
