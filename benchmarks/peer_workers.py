"""One sampler on one problem, in this process alone; `peers.py` starts it with the Python that has the sampler.

    python benchmarks/peer_workers.py SAMPLER FOLDER CAP CORES RESULT.json

FOLDER has the problem (`save` writes it). Each sampler is a function that imports what it needs and returns its draws,
the seconds before the first kept draw (data in memory and libraries imported: everything else counts) and the seconds
of sampling. How many draws fit into CAP seconds is found by a short pilot.

Peers sample ``z`` where ``theta = mode + scale z``, in units of the Laplace approximation, from ``z = 0``: they need no
burn-in and their mass matrix starts out right. Their mode costs them nothing. tunamh is given nothing.
"""

from __future__ import annotations

import json
import sys
import time
import types
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from common import available_memory, keep_to_cores, min_ess, versions
from problems import DF, Problem

_LEAST_DRAWS = 20
_ENOUGH_DRAWS = 2000  # of a sampler whose draws are nearly independent
_ENOUGH_SECONDS = 5.0  # of sampling, if there are enough draws by then


class Outcome(NamedTuple):
    """What a sampler hands back; ``extra`` goes into the report as it is."""

    draws: np.ndarray
    setup_seconds: float
    sampling_seconds: float
    extra: dict[str, Any]


class Skipped(Exception):
    """The sampler cannot run this problem; the message says why."""


# -------------------------------------------------------------------------------------------------- shared parts


def save(problem: Problem, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "family").write_text(problem.family)
    for name in Problem._fields[1:]:
        np.save(folder / f"{name}.npy", getattr(problem, name))


def load(folder: Path) -> Problem:
    return Problem((folder / "family").read_text(), *(np.load(folder / f"{name}.npy") for name in Problem._fields[1:]))


def fitting_draws(seconds_per_draw: float, cap: float, enough: int = _ENOUGH_DRAWS) -> int:
    """As many draws as fit into ``cap`` seconds, no more than needed, and at least a handful."""
    wanted = max(enough, _ENOUGH_SECONDS / seconds_per_draw)
    return max(_LEAST_DRAWS, int(min(wanted, cap / seconds_per_draw)))


def warmup_draws(problem: Problem, cap: float) -> int:
    """300 where a gradient is cheap; fewer, but 50 at least, where 16 gradients per draw would exceed the cap."""
    times = []
    for _ in range(3):
        started = time.perf_counter()
        np.tanh(problem.X @ problem.mode) @ problem.X
        times.append(time.perf_counter() - started)
    return int(np.clip(cap / (16 * min(times)), 50, 300))


# -------------------------------------------------------------------------------------------------------- tunamh


def run_tunamh(problem: Problem, cap: float, cores: int) -> Outcome:
    """All choices left to the library. The first run compiles, the second tells set-up and pace, the third counts."""
    from own_run import long_run, timed_run

    data = (problem.family, problem.X, problem.y)
    started = time.perf_counter()
    timed_run(*data, draws=10, limit=cap, cores=cores)
    first_run = time.perf_counter() - started
    pilot = timed_run(*data, draws=1000, limit=cap, cores=cores)
    run = long_run(*data, pilot=pilot, cap=cap, cores=cores)
    settings = json.loads(run.stats.attrs["settings"])
    extra = {
        "rows_per_step": float(run.stats["batch_size"].mean()),
        "acceptance": float(run.stats["acceptance_rate"].mean()),
        "first_run_seconds": first_run,
        **{name: settings[name] for name in ("test", "proposal", "target")},
    }
    return Outcome(run.draws, pilot.setup_seconds, run.sampling_seconds, extra)


# ------------------------------------------------------------------------------------------------------- NumPyro


def _numpyro_model(problem: Problem, scale: np.ndarray, subsample: int | None) -> Any:
    import jax.numpy as jnp
    import numpyro
    from numpyro import distributions as dist

    n_rows, d = problem.X.shape
    mode, scale = jnp.asarray(problem.mode), jnp.asarray(scale)

    def model(X, y):
        z = numpyro.sample("z", dist.ImproperUniform(dist.constraints.real, (), (d,)))
        theta = mode + (scale * z if scale.ndim == 1 else scale @ z)
        with numpyro.plate("rows", n_rows, subsample_size=subsample):
            x, r = (X, y) if subsample is None else (numpyro.subsample(X, 1), numpyro.subsample(y, 0))
            eta = x @ theta
            law = dist.Bernoulli(logits=eta) if problem.family == "logistic" else dist.StudentT(DF, eta, 1.0)
            numpyro.sample("y", law, obs=r)

    return model


def _run_numpyro(problem: Problem, cap: float, *, dense: bool = False, subsample: int | None = None) -> Outcome:
    """Warm-up and draws by the kernel's own ``sample``, in one compiled loop of any length."""
    import jax
    import jax.numpy as jnp
    import numpyro
    from numpyro.infer import HMCECS, NUTS, init_to_value

    numpyro.enable_x64()
    numpyro.set_platform("cpu")
    numpyro.set_host_device_count(1)
    d, chunk = problem.mode.size, 1000
    warmup = warmup_draws(problem, cap) if subsample is None else 300
    started = time.perf_counter()
    data = jnp.asarray(problem.X), jnp.asarray(problem.y)
    scale = np.linalg.cholesky(problem.covariance) if dense else problem.sd
    centre = {"z": jnp.zeros(d)}
    kernel = NUTS(_numpyro_model(problem, scale, subsample), init_strategy=init_to_value(values=centre))
    if subsample is not None:
        kernel = HMCECS(kernel, num_blocks=10, proxy=HMCECS.taylor_proxy(centre, degree=2))
    state = kernel.init(jax.random.PRNGKey(1), warmup, None, data, {})

    @jax.jit
    def advance(state, n, data):
        def step(i, carried):
            state, kept = carried
            state = kernel.sample(state, data, {})
            return state, kept.at[i].set(state.z["z"])

        return jax.lax.fori_loop(0, n, step, (state, jnp.zeros((chunk, d))))

    def draw(n: int) -> tuple[np.ndarray, float]:
        nonlocal state
        kept, begun = [], time.perf_counter()
        for first in range(0, n, chunk):
            size = min(chunk, n - first)
            state, values = advance(state, size, data)
            kept.append(np.asarray(values)[:size])
        return np.concatenate(kept), time.perf_counter() - begun

    before = time.perf_counter()
    jax.block_until_ready(advance(state, 0, data))
    compiling = time.perf_counter() - before
    draw(warmup)
    setup = time.perf_counter() - started
    _, seconds = draw(10)
    n = fitting_draws(seconds / 10, cap)
    z, seconds = draw(n)
    theta = problem.mode + (z @ scale.T if dense else z * scale)
    return Outcome(theta, setup, seconds, {"warmup": warmup, "compile_seconds": compiling})


def run_numpyro(problem: Problem, cap: float, cores: int) -> Outcome:
    return _run_numpyro(problem, cap)


def run_numpyro_dense(problem: Problem, cap: float, cores: int) -> Outcome:
    """Sampled in coordinates whitened by the Laplace covariance: what a dense mass matrix does, known beforehand."""
    return _run_numpyro(problem, cap, dense=True)


def run_hmcecs(problem: Problem, cap: float, cores: int) -> Outcome:
    """100 rows in 10 blocks about a second-order expansion at the mode; it samples a perturbed posterior.

    Of 100 and 1000 rows, tried at 1e4 x 50, 100 gave it fifty times the effective draws per second.
    """
    return _run_numpyro(problem, cap, subsample=100)


# -------------------------------------------------------------------------------------------------------- nutpie


def run_nutpie(problem: Problem, cap: float, cores: int) -> Outcome:
    """Sampling runs in the background until there is enough; the share of gradients tells its time from warm-up's."""
    import nutpie
    import pymc as pm
    import pytensor.tensor as pt

    d, warmup = problem.mode.size, warmup_draws(problem, cap)
    started = time.perf_counter()
    with pm.Model() as model:  # the data as constants and the likelihood by hand: up to five times faster
        z = pm.Flat("z", shape=d)
        eta = pm.math.dot(problem.X, problem.mode + problem.sd * z)
        if problem.family == "logistic":
            pm.Potential("y", pt.sum(problem.y * eta - pt.softplus(eta)))
        else:
            pm.Potential("y", -0.5 * (DF + 1) * pt.sum(pt.log1p((problem.y - eta) ** 2 / DF)))
    compiled = nutpie.compile_pymc_model(model, initial_points={"z": np.zeros(d)}, jitter_rvs=set())
    compiling = time.perf_counter() - started
    settings = {"tune": warmup, "chains": 1, "cores": 1, "seed": 1, "progress_bar": False, "blocking": False}
    begun = time.perf_counter()
    sampler = nutpie.sample(compiled, draws=1_000_000, **settings)
    while True:
        time.sleep(max(0.5, cap / 20))
        sampled = time.perf_counter() - begun
        share, n = _nutpie_share(sampler.inspect())
        seconds = sampled * share
        if n >= _LEAST_DRAWS and n >= fitting_draws(seconds / n, cap):
            break
    trace = sampler.abort()
    total = time.perf_counter() - begun
    seconds = total * _nutpie_share(trace)[0]
    theta = problem.mode + problem.sd * trace.posterior["z"].values[0]
    extra = {"warmup": warmup, "compile_seconds": compiling}
    return Outcome(theta, compiling + total - seconds, seconds, extra)


def _nutpie_share(trace: Any) -> tuple[float, int]:
    """The kept draws' share of all gradients so far, and their number."""
    kept, warm = (float(group["n_steps"].sum()) for group in (trace.sample_stats, trace.warmup_sample_stats))
    return kept / max(kept + warm, 1.0), trace.posterior.sizes["draw"]


# -------------------------------------------------------------------------------------------------------- pymhss


def run_pymhss(problem: Problem, cap: float, cores: int) -> Outcome:
    """Its MH-SS with second-order control variates and its own scaling, given mode and covariance.

    It imports TensorFlow for its own search of the mode and plotnine for figures; neither is used here, so empty
    modules stand in for them.
    """
    if problem.family != "logistic":
        raise Skipped("pymhss has no Student-t regression")
    n_rows, d = problem.X.shape
    need = 3 * 8 * n_rows * d * d  # a Hessian for every row: a list of them, the list as an array, the array's negative
    if need > 0.9 * available_memory():
        raise Skipped(f"out of memory: it keeps a Hessian for every row, {need / 1e9:.0f} GB at its peak")
    for unused in ("tensorflow", "plotnine"):
        sys.modules.setdefault(unused, types.ModuleType(unused))
    from PyMHSS import MH_SS

    np.random.seed(1)  # noqa: NPY002  the generator that it uses
    burn = 100

    def run(draws: int) -> tuple[np.ndarray, float, float]:
        started = time.perf_counter()
        arguments = (problem.y, problem.X, problem.covariance, problem.mode, burn, draws, "logistic", "vectorised")
        result = MH_SS(*arguments, taylor_order=2)
        wall = time.perf_counter() - started
        seconds = result["cpu_time"] * draws / (draws + burn)
        return result["parameters"], wall - seconds, seconds

    _, setup, seconds = run(500)
    draws = fitting_draws(seconds / 500, cap, enough=100_000) // 2 * 2  # its own ESS wants an even number
    parameters, _, seconds = run(draws)
    return Outcome(parameters, setup, seconds, {})


# ----------------------------------------------------------------------------------------------------- the worker

SAMPLERS = {
    "tunamh": run_tunamh,
    "numpyro": run_numpyro,
    "numpyro-dense": run_numpyro_dense,
    "nutpie": run_nutpie,
    "hmcecs": run_hmcecs,
    "pymhss": run_pymhss,
}
_PACKAGES = {
    "tunamh": ("tunamh", "numba"),
    "nutpie": ("nutpie", "pymc"),
    "pymhss": ("pymhss",),
}


def report(sampler: str, problem: Problem, outcome: Outcome) -> dict:
    """Figures of one run; ``centre`` and ``spread`` hold its law against the Laplace approximation."""
    z = (outcome.draws - problem.mode) / problem.sd
    effective = min_ess(outcome.draws)
    return {
        "status": "ok",
        "setup_seconds": outcome.setup_seconds,
        "sampling_seconds": outcome.sampling_seconds,
        "draws": len(outcome.draws),
        "min_ess": effective,
        "ess_per_step": effective / len(outcome.draws),
        "ess_per_second": effective / outcome.sampling_seconds,
        "ess_per_second_with_setup": effective / (outcome.setup_seconds + outcome.sampling_seconds),
        "seconds_to_1000": outcome.setup_seconds + 1000 * outcome.sampling_seconds / effective,
        "centre": float(np.abs(z.mean(axis=0)).max()),
        "spread": float(z.std(axis=0).mean()),
        "versions": versions("arviz-stats", *_PACKAGES.get(sampler, ("numpyro", "jax"))),
        "date": time.strftime("%Y-%m-%d"),
        **outcome.extra,
    }


def main() -> None:
    sampler, folder, cap, cores, result = sys.argv[1:]
    keep_to_cores(int(cores))
    warnings.simplefilter("ignore")
    problem = load(Path(folder))
    try:
        figures = report(sampler, problem, SAMPLERS[sampler](problem, float(cap), int(cores)))
    except ImportError as error:
        figures = {"status": f"not installed: {error}"}
    except Skipped as reason:
        figures = {"status": f"skipped: {reason}"}
    except MemoryError:
        figures = {"status": "out of memory"}
    Path(result).write_text(json.dumps(figures))


if __name__ == "__main__":
    main()
