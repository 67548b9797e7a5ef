"""NUTS on a regression with group effects, in this process alone, with the peers' Python.

    python benchmarks/nuts_groups.py PROBLEM.npz SAMPLER FORM CAP ENOUGH RESULT.json

SAMPLER is numpyro or nutpie; FORM is centred, or not: then NUTS walks effects over their scale. Both are treated well:
float64, energies by hand, rows in the order of their (first) groups, start at the posterior means and units of the
posterior standard deviations that PROBLEM.start.npz has in this form, a dense mass matrix of coefficients and log
scales in NumPyro; compiling and warm-up are not counted. It stops at CAP seconds of the processor, or at ENOUGH draws.
Draws of coefficients, log scales and effects go to PROBLEM.nuts.npy.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from common import keep_to_cores, versions
from group_problems import PRIOR, GroupProblem, load

_LEAST_DRAWS = 20
_MOST_VALUES = 4e8


class Units(NamedTuple):
    """Means and standard deviations of coefficients and log scales together, and of what is walked for the effects."""

    common: tuple[np.ndarray, np.ndarray]
    effects: tuple[np.ndarray, np.ndarray]


def in_form(values: np.ndarray, problem: GroupProblem, centred: bool, back: bool = False) -> np.ndarray:
    """Effects over their scale, where the form is not centred; or back from there."""
    if centred:
        return values
    values, d, at = values.copy(), problem.X.shape[1], problem.X.shape[1] + len(problem.groups)
    for f, groups in enumerate(problem.groups):
        factor = np.exp(values[:, d + f, None])
        values[:, at : at + groups] *= factor if back else 1 / factor
        at += groups
    return values


def units_of(start: Path, problem: GroupProblem, centred: bool) -> Units:
    name = "centred" if centred else "other"
    with np.load(start) as found:
        mean, sd = found[f"mean_{name}"], found[f"sd_{name}"]
    c = problem.X.shape[1] + len(problem.groups)
    return Units((mean[:c], sd[:c]), (mean[c:], sd[c:]))


def sorted_rows(problem: GroupProblem) -> GroupProblem:
    order = np.argsort(problem.codes[:, 0], kind="stable")
    return problem._replace(X=problem.X[order], y=problem.y[order], codes=problem.codes[order])


def energy_of(problem: GroupProblem, centred: bool, xp: Any, softplus: Any) -> Any:
    """Minus the log density in (coefficients and log scales, walked effects); ``xp`` is JAX's or PyTensor's NumPy."""
    d, groups, poisson = problem.X.shape[1], problem.groups, problem.family == "poisson"

    def energy(common, effects, X, y, codes):
        theta = common[:d]
        total = (theta**2).sum() / (2 * PRIOR**2)
        eta, at = xp.dot(X, theta), 0
        for f, G in enumerate(groups):
            log_s, own = common[d + f], effects[at : at + G]
            total = total + 0.5 * xp.exp(2 * log_s) - log_s
            if centred:
                total = total + G * log_s + 0.5 * (own**2).sum() * xp.exp(-2 * log_s)
                eta = eta + own[codes[f]]
            else:
                total = total + 0.5 * (own**2).sum()
                eta = eta + (own * xp.exp(log_s))[codes[f]]
            at += G
        return total + ((xp.exp(eta) if poisson else softplus(eta)) - y * eta).sum()

    return energy


def warmup_draws(gradient_seconds: float, cap: float) -> int:
    return int(np.clip(cap / (64 * gradient_seconds), 40, 300))


def run_numpyro(problem: GroupProblem, units: Units, centred: bool, cap: float, enough: int) -> tuple[np.ndarray, dict]:
    import jax
    import jax.numpy as jnp
    import numpyro
    from numpyro.infer import NUTS, init_to_value

    numpyro.enable_x64()
    numpyro.set_platform("cpu")
    density, chunk = energy_of(problem, centred, jnp, jax.nn.softplus), 50
    data = (jnp.asarray(problem.X), jnp.asarray(problem.y), jnp.asarray(problem.codes.T.astype(np.int32)))
    (m, s), (M, S) = ((jnp.asarray(a), jnp.asarray(b)) for a, b in units)

    def of_units(z, data):
        return density(m + s * z["common"], M + S * z["effects"], *data)

    slope, origin = jax.jit(jax.grad(of_units)), {"common": jnp.zeros(m.size), "effects": jnp.zeros(M.size)}
    jax.block_until_ready(slope(origin, data))
    before = time.process_time()
    for _ in range(3):
        jax.block_until_ready(slope(origin, data))
    gradient = (time.process_time() - before) / 3
    warmup = warmup_draws(gradient, cap)

    def model(data):
        real = numpyro.distributions.constraints.real
        z = {
            name: numpyro.sample(name, numpyro.distributions.ImproperUniform(real, (), (value.size,)))
            for name, value in origin.items()
        }
        numpyro.factor("rows", -of_units(z, data))

    kernel = NUTS(model, init_strategy=init_to_value(values=origin), dense_mass=[("common",)])
    state = kernel.init(jax.random.PRNGKey(1), warmup, None, (data,), {})

    @jax.jit
    def advance(state, n, data):
        def step(i, carried):
            state, common, effects, leaps = carried
            state = kernel.sample(state, (data,), {})
            return (
                state,
                common.at[i].set(state.z["common"]),
                effects.at[i].set(state.z["effects"]),
                leaps + state.num_steps,
            )

        empty = jnp.zeros((chunk, m.size)), jnp.zeros((chunk, M.size))
        return jax.lax.fori_loop(0, n, step, (state, *empty, 0))

    jax.block_until_ready(advance(state, 0, data))
    before = time.process_time()
    for first in range(0, warmup, chunk):
        state = jax.block_until_ready(advance(state, min(chunk, warmup - first), data))[0]
    warming = time.process_time() - before
    size = int(np.clip(0.1 * cap * warmup / warming, 1, chunk))
    kept, leaps, used = [], 0, 0.0
    while sum(map(len, kept)) < enough and (used < cap or sum(map(len, kept)) < _LEAST_DRAWS):
        before = time.process_time()
        state, common, effects, more = jax.block_until_ready(advance(state, size, data))
        used += time.process_time() - before
        leaps += int(more)
        kept.append(np.concatenate([np.asarray(m + s * common), np.asarray(M + S * effects)], axis=1)[:size])
    draws = np.concatenate(kept)
    about = {"gradient_seconds": gradient, "gradients_per_draw": leaps / len(draws)}
    return draws, about | {"sampling_seconds": used, "warmup_seconds": warming, "warmup": warmup}


def run_nutpie(problem: GroupProblem, units: Units, centred: bool, cap: float, enough: int) -> tuple[np.ndarray, dict]:
    """PyMC's model compiled by Numba; the kept draws' share of all gradients tells their time from warm-up's."""
    import nutpie
    import pymc as pm
    import pytensor.tensor as pt

    density = energy_of(problem, centred, pt, pt.softplus)
    (m, s), (M, S) = units
    with pm.Model() as model:
        common, effects = pm.Flat("common", shape=m.size), pm.Flat("effects", shape=M.size)
        codes = [np.ascontiguousarray(column) for column in problem.codes.T]
        pm.Potential("rows", -density(m + s * common, M + S * effects, problem.X, problem.y, codes))
    points = {"common": np.zeros(m.size), "effects": np.zeros(M.size)}
    compiled = nutpie.compile_pymc_model(model, initial_points=points, jitter_rvs=set())
    settings = {"chains": 1, "cores": 1, "seed": 1, "progress_bar": False, "blocking": False}
    began, warmup = time.process_time(), 300
    room = min(1_000_000, int(_MOST_VALUES / (m.size + M.size)))  # nutpie asks for the memory of all draws at once
    sampler = nutpie.sample(compiled, draws=room, tune=warmup, **settings)
    while True:
        time.sleep(max(0.5, cap / 30))
        share, n = _nutpie_share(sampler.inspect())
        used = (time.process_time() - began) * share
        if n >= min(enough, room) or (n >= _LEAST_DRAWS and used > cap):
            break
    trace = sampler.abort()
    total = time.process_time() - began
    share, n = _nutpie_share(trace)
    found = [trace.posterior[name].values[0] for name in ("common", "effects")]
    about = {"sampling_seconds": total * share, "warmup_seconds": total * (1 - share), "warmup": warmup}
    about["gradients_per_draw"] = float(trace.sample_stats["n_steps"].mean())
    return np.concatenate([m + s * found[0], M + S * found[1]], axis=1), about


def _nutpie_share(trace: Any) -> tuple[float, int]:
    """The kept draws' share of all gradients so far, and their number."""
    kept, warm = (float(group["n_steps"].sum()) for group in (trace.sample_stats, trace.warmup_sample_stats))
    return kept / max(kept + warm, 1.0), trace.posterior.sizes["draw"]


def worst_of_each(draws: np.ndarray, problem: GroupProblem) -> dict[str, float]:
    """Effective draws of the worst coefficient, log scale and effect."""
    from arviz_stats import ess

    found = np.array([float(ess(column.copy()[None])) for column in draws.T])
    d, c = problem.X.shape[1], problem.X.shape[1] + len(problem.groups)
    return {"theta": found[:d].min(), "log scale": found[d:c].min(), "effect": found[c:].min()}


def main() -> None:
    path, sampler, form, cap, enough, result = sys.argv[1:]
    keep_to_cores(1)
    warnings.simplefilter("ignore")
    problem, centred = load(Path(path)), form == "centred"
    start = Path(path).with_suffix(".start.npz")
    run = {"numpyro": run_numpyro, "nutpie": run_nutpie}[sampler]
    units = units_of(start, problem, centred)
    draws, figures = run(sorted_rows(problem), units, centred, float(cap), int(enough))
    draws = in_form(draws, problem, centred, back=True)
    np.save(Path(path).with_suffix(".nuts.npy"), draws)
    worst = worst_of_each(draws, problem)
    figures |= {
        "status": "ok",
        "draws": len(draws),
        "worst": worst,
        "min_ess": min(worst.values()),
        "ess_per_second": min(worst.values()) / figures["sampling_seconds"],
        "versions": versions(*({"numpyro": ("numpyro", "jax"), "nutpie": ("nutpie", "pymc")}[sampler])),
    }
    Path(result).write_text(json.dumps(figures))


if __name__ == "__main__":
    main()
