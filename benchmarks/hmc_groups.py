"""HMC on a logistic regression with group effects, many chains at once, in JAX: on a GPU where there is one.

    python benchmarks/hmc_groups.py FOLDER NAMES [--chains 128] [--seconds 8] [--limit 200] [--packages FOLDER]

FOLDER has, for every name, NAME.npz (the problem of `group_problems.py`) and NAME.start.npz (posterior mean and
covariance of the common parameters phi = (coefficients, log scales), from our own draws). NAME.hmc.json is written
there.

HMC is treated well. It walks in the coordinates of our sweep, where the Laplace law is standard normal, and its start
and its units of phi are those of the posterior itself, free of charge:

    phi = m + L w,    v_g = P_g^-1 (H_g v^_g - g_g - h_g b) + P_g^-1/2 eps_g,    P_g = H_g + exp(-2 lambda)

with the sums H, g, h of docs/spec-groups.md about the mode v^ of the effects at m (where factors cross, h has what b
does by way of the other factors' modes). Single precision; energies of rows are differences from those at the centre.
The length of a step is learned for an acceptance of .8; trajectories have lengths .75, 1.5 and 3, with steps of .8 to
1.2 times their length, and the best of the three counts. Compiling and warm-up are not counted.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from group_problems import PRIOR, GroupProblem, load
from nuts_groups import sorted_rows

_WARMUP, _FIRST_STEPS, _MOST_STEPS, _CHUNK = 60, 12, 64, 5
_GOAL = 0.8  # acceptance


class Factor(NamedTuple):
    """The sums of a factor's rows about the centre, one line per group."""

    codes: Any
    sorted: bool
    mode: Any
    slope: Any
    curvature: Any
    cross: Any


class Coordinates(NamedTuple):
    """``centre`` and ``root`` of phi; ``eta`` of the rows at the centre."""

    centre: Any
    root: Any
    eta: Any
    factors: list[Factor]


def coordinates(problem: GroupProblem, centre: np.ndarray, covariance: np.ndarray) -> Coordinates:
    """Effects at their mode given phi = ``centre``, factor by factor until they stand; and the sums there."""
    d, sizes = problem.X.shape[1], problem.groups
    modes, precisions = [np.zeros(G) for G in sizes], np.exp(-2 * centre[d:])
    eta = problem.X @ centre[:d]
    for _ in range(25 if len(sizes) > 1 else 12):
        for f, codes in enumerate(problem.codes.T):
            p = 1 / (1 + np.exp(-eta))
            slope = np.bincount(codes, p - problem.y, sizes[f]) + precisions[f] * modes[f]
            step = -slope / (np.bincount(codes, p * (1 - p), sizes[f]) + precisions[f])
            modes[f] += step
            eta += step[codes]
    p = 1 / (1 + np.exp(-eta))
    weight, factors = p * (1 - p), []
    for f, codes in enumerate(problem.codes.T):
        sums = np.bincount(codes, p - problem.y, sizes[f]), np.bincount(codes, weight, sizes[f])
        factors.append(Factor(codes, f == 0, modes[f], *sums, np.empty((sizes[f], d))))
    for j, x in enumerate(problem.X.T):
        follow = np.zeros(len(eta))  # what a unit of b_j adds to a row by way of the modes of all effects
        parts = [np.zeros(G) for G in sizes]
        for _ in range(60 if len(sizes) > 1 else 1):
            for f, own in enumerate(factors):
                follow -= parts[f][own.codes]
                own.cross[:, j] = np.bincount(own.codes, weight * (x + follow), sizes[f])
                parts[f] = -own.cross[:, j] / (own.curvature + precisions[f])
                follow += parts[f][own.codes]
    return Coordinates(centre, np.linalg.cholesky(covariance), eta, factors)


def energy_of(problem: GroupProblem, at: Coordinates) -> Any:
    """Minus the log density of (w, eps), one number per chain; arrays have chains in their last axis."""
    import jax
    import jax.numpy as jnp

    def single(value: Any) -> Any:
        return jnp.asarray(value, jnp.float32)

    d, X, y = problem.X.shape[1], single(problem.X), single(problem.y)[:, None]
    centre, root, eta = single(at.centre)[:, None], single(at.root), single(at.eta)[:, None]
    origin = jax.nn.softplus(eta)
    parts = [f._replace(codes=jnp.asarray(f.codes, jnp.int32)) for f in at.factors]
    parts = [f._replace(**{name: single(getattr(f, name)) for name in Factor._fields[2:]}) for f in parts]

    def energy(w: Any, eps: Any) -> Any:
        moved = root @ w
        b, phi, first = moved[:d], centre + moved, 0
        total = (phi[:d] ** 2).sum(0) / (2 * PRIOR**2)
        change = X @ b
        for f, part in enumerate(parts):
            G, log_s = len(part.mode), phi[d + f]
            q, H = jnp.exp(-2 * log_s), part.curvature[:, None]
            P, v0 = H + q, part.mode[:, None]
            v = (H * v0 - part.slope[:, None] - part.cross @ b) / P + eps[first : first + G] / jnp.sqrt(P)
            total += (0.5 * q * v * v + 0.5 * jnp.log(P)).sum(0) + G * log_s + 0.5 * jnp.exp(2 * log_s) - log_s
            change += (v - v0).at[part.codes].get(indices_are_sorted=part.sorted, mode="promise_in_bounds")
            first += G
        return total + (jax.nn.softplus(eta + change) - origin - y * change).sum(0)

    return energy


def kernel_of(energy: Any) -> Any:
    """``(state, key, length of a step, steps) -> state, phi's w, acceptance`` for ``_CHUNK`` trajectories."""
    import jax
    import jax.numpy as jnp

    def with_sum(z: Any) -> Any:
        each = energy(*z)
        return each.sum(), each

    slopes = jax.grad(with_sum, has_aux=True)

    def trajectory(z: Any, key: Any, step: Any, steps: Any) -> Any:
        keys = jax.random.split(key, 4)
        p = tuple(jax.random.normal(k, part.shape, jnp.float32) for k, part in zip(keys[:2], z, strict=True))
        step = step * jax.random.uniform(keys[2], (), jnp.float32, 0.8, 1.2)
        kinetic = [sum(0.5 * (part * part).sum(0) for part in p)]
        g, before = slopes(z)

        def leap(_: Any, carried: Any) -> Any:
            q, p, g, _ = carried
            p = tuple(a - 0.5 * step * b for a, b in zip(p, g, strict=True))
            q = tuple(a + step * b for a, b in zip(q, p, strict=True))
            g, after = slopes(q)
            return q, tuple(a - 0.5 * step * b for a, b in zip(p, g, strict=True)), g, after

        q, p, _, after = jax.lax.fori_loop(0, steps, leap, (z, p, g, before))
        kinetic.append(sum(0.5 * (part * part).sum(0) for part in p))
        chance = jnp.exp(jnp.minimum(0.0, before - after + kinetic[0] - kinetic[1]))
        chance = jnp.where(jnp.isfinite(chance), chance, 0.0)
        yes = jax.random.uniform(keys[3], chance.shape) < chance
        return tuple(jnp.where(yes, a, b) for a, b in zip(q, z, strict=True)), chance.mean()

    @partial(jax.jit, static_argnums=3)  # a loop of known length needs no word from the host
    def several(z: Any, key: Any, step: Any, steps: Any) -> Any:
        def one(z: Any, key: Any) -> Any:
            z, chance = trajectory(z, key, step, steps)
            return z, (z[0], chance)

        return jax.lax.scan(one, z, jax.random.split(key, _CHUNK))

    return several


def measure(folder: Path, name: str, given: argparse.Namespace) -> dict:
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_default_matmul_precision", "highest")
    problem = sorted_rows(load(folder / f"{name}.npz"))
    with np.load(folder / f"{name}.start.npz") as start:
        at = coordinates(problem, start["mean"], start["covariance"])
        ours = start["mean"], start["error"]
    several, k, dim = kernel_of(energy_of(problem, at)), len(at.centre), len(at.centre) + sum(problem.groups)
    keys = iter(jax.random.split(jax.random.PRNGKey(1), 100_000))
    z = tuple(jax.random.normal(next(keys), (n, given.chains), jnp.float32) for n in (k, dim - k))
    began, log_step = time.perf_counter(), np.log(1.2 * dim**-0.25)
    jax.block_until_ready(several(z, next(keys), jnp.float32(np.exp(log_step)), _FIRST_STEPS))
    compiling = time.perf_counter() - began
    for n in range(_WARMUP // _CHUNK):
        z, (_, chance) = several(z, next(keys), jnp.float32(np.exp(log_step)), _FIRST_STEPS)
        log_step += (float(chance.mean()) - _GOAL) * 2 / (1 + n) ** 0.6
    warming, step = time.perf_counter() - began - compiling, float(np.exp(log_step))
    runs = []
    for length in (0.75, 1.5, 2.2):
        steps = int(np.clip(round(length / step), 1, _MOST_STEPS))
        z, kept, chance, used = sample(several, z, keys, (jnp.float32(step), steps), given.seconds)
        phi = at.centre + kept @ at.root.T  # draws, chains, parameters
        runs.append(figures(phi, ours) | {"steps": steps, "step": step, "acceptance": chance, "seconds": used})
        runs[-1]["gradient_seconds"] = used / (len(kept) * steps)
        runs[-1]["ess_per_second"] = runs[-1]["min_ess"] / used
    best = max(runs, key=lambda run: run["ess_per_second"])
    where = str(jax.devices()[0].device_kind), jax.__version__
    return {"status": "ok", "chains": given.chains, "device": where[0], "jax": where[1], **best, "runs": runs} | {
        "compiling_seconds": compiling,
        "warmup_seconds": warming,
    }


def sample(several: Any, z: Any, keys: Any, how: tuple[Any, int], seconds: float) -> tuple:
    """At least thirty trajectories, and as many more as there is time for; the first chunk is thrown away."""
    import jax

    z = jax.block_until_ready(several(z, next(keys), *how))[0]
    kept, chances, began = [], [], time.perf_counter()
    while len(kept) < 30 // _CHUNK or time.perf_counter() - began < seconds:
        z, (w, chance) = jax.block_until_ready(several(z, next(keys), *how))
        kept.append(np.asarray(w, float))
        chances.append(float(chance.mean()))
    return z, np.concatenate(kept).transpose(0, 2, 1), float(np.mean(chances)), time.perf_counter() - began


def figures(phi: np.ndarray, ours: tuple[np.ndarray, np.ndarray]) -> dict:
    """Effective draws of the worst of phi, and how far our means are from these, in Monte Carlo errors of both."""
    means, squares = (np.array([ess_of(phi[:, :, j].T)[k] for j in range(phi.shape[2])]) for k in (0, 1))
    found, error = np.minimum(means, squares), phi.std(axis=(0, 1)) / np.sqrt(means)
    z = (phi.mean(axis=(0, 1)) - ours[0]) / np.hypot(error, ours[1])
    return {"draws": len(phi), "min_ess": found.min(), "worst": int(found.argmin()), "z": float(np.abs(z).max())}


def ess_of(chains: np.ndarray) -> tuple[float, float]:
    """Effective draws for the mean and for the variance. After half a period HMC is at the mirror image of its start:
    means are then better than those of independent draws, and variances stay as they were."""
    from arviz_stats import ess

    squares = (chains - chains.mean()) ** 2
    return float(ess(np.ascontiguousarray(chains))), float(ess(np.ascontiguousarray(squares)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", help="separated by commas")
    parser.add_argument("--chains", type=int, default=128)
    parser.add_argument("--seconds", type=float, default=8.0, help="for each of the three lengths of trajectories")
    parser.add_argument("--limit", type=float, default=200.0, help="no problem is begun after so many seconds")
    parser.add_argument("--packages", help="a folder with packages that this Python does not have")
    given = parser.parse_args()
    if given.packages:
        sys.path.append(given.packages)
    began = time.perf_counter()
    for name in given.names.split(","):
        if time.perf_counter() - began > given.limit or not (given.folder / f"{name}.start.npz").exists():
            continue
        try:
            found = measure(given.folder, name, given)
        except Exception as error:  # the other problems are measured all the same
            found = {"status": f"failed: {type(error).__name__}: {str(error)[:300]}"}
        (given.folder / f"{name}.hmc.json").write_text(json.dumps(found))
        print("HMC", name, found, flush=True)


if __name__ == "__main__":
    main()
