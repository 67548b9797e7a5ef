"""NumPyro's NUTS on a model of `model_problems.py`, in this process alone, with the peers' Python.

    python benchmarks/nuts_models.py FOLDER CAP ENOUGH [SEED] RESULT.json

FOLDER has the problem and ``start.npy``, a point near the mode as a user knows the parameters. The energies are written
by hand in JAX, in float64, sums over counts by their distinct values: faster than NumPyro's distributions. NUTS samples
``z``, where the parameters, made real by logarithms and logits, are ``mode + L z`` with ``L L'`` the inverse Hessian at
the mode: what a dense mass matrix would be, known beforehand. It starts at ``z = 0``; mode, compiling and warm-up are
not counted. It stops at CAP seconds of sampling, or at ENOUGH draws. Draws go to FOLDER/nuts.npy.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
from jax.scipy.special import gammaln
from numpyro.infer import NUTS, init_to_value

from common import keep_to_cores, min_ess, versions
from model_problems import DELTA, DF, Problem, load

Energy = Callable[[Any, dict], Any]
_LEAST_DRAWS = 20
_PILOT = 5


# --------------------------------------------------------------------------------------- priors, as minus logarithms


def _half_student(log_x, width):
    """Of a positive ``x``, with the Jacobian of its logarithm."""
    return 2.0 * jnp.log1p(jnp.exp(2 * log_x) / (3 * width**2)) - log_x


def _log_normal(log_x):
    return (log_x - 1.0) ** 2 / 8


def _gamma_prior(log_x):
    """``x e^(-x/10)``, with the Jacobian."""
    return jnp.exp(log_x) / 10 - 2 * log_x


# ---------------------------------------------------------------------------------------------------------- energies


def _residuals(rho: Callable) -> Callable:
    """``y = x.beta + s eps``, the density of ``eps`` being ``exp(-rho)``; the last parameter is ``log s``."""

    def energy(problem: Problem) -> Energy:
        def of(theta, data):
            log_s, n = theta[-1], data["y"].size
            z = (data["y"] - data["X"] @ theta[:-1]) * jnp.exp(-log_s)
            return n * log_s + rho(z).sum() + _half_student(log_s, problem.width)

        return of

    return energy


def _huber(z):
    inner = jnp.clip(z, -DELTA, DELTA)
    return 0.5 * inner**2 + DELTA * jnp.abs(z - inner)


def _student_df(problem: Problem) -> Energy:
    def of(theta, data):
        log_s, log_df, n = theta[-2], theta[-1], data["y"].size
        df = jnp.exp(log_df)
        z = (data["y"] - data["X"] @ theta[:-2]) * jnp.exp(-log_s)
        constant = gammaln(df / 2) - gammaln((df + 1) / 2) + log_df / 2 + log_s
        rows = 0.5 * (df + 1) * jnp.log1p(z * z / df).sum()
        return n * constant + rows + _half_student(log_s, problem.width) + _gamma_prior(log_df)

    return of


def _logistic(problem: Problem) -> Energy:
    def of(theta, data):
        eta = data["X"] @ theta
        return (jax.nn.softplus(eta) - data["y"] * eta).sum()

    return of


def _poisson(problem: Problem) -> Energy:
    def of(theta, data):
        eta = data["X"] @ theta
        return (jnp.exp(eta) - data["y"] * eta).sum()

    return of


def _negative_binomial(problem: Problem) -> Energy:
    values, counts = (jnp.asarray(a, float) for a in np.unique(problem.arrays["y"], return_counts=True))

    def of(theta, data):
        log_r = theta[-1]
        r, z = jnp.exp(log_r), data["X"] @ theta[:-1] - log_r
        rows = (r * jax.nn.softplus(z) + data["y"] * jax.nn.softplus(-z)).sum()
        return rows - counts @ (gammaln(values + r) - gammaln(r)) + _log_normal(log_r)

    return of


def _gamma(problem: Problem) -> Energy:
    log_sum = float(np.log(problem.arrays["y"]).sum())

    def of(theta, data):
        log_a, n = theta[-1], data["y"].size
        a, eta = jnp.exp(log_a), data["X"] @ theta[:-1]
        rows = a * (eta + data["y"] * jnp.exp(-eta)).sum()
        return rows + n * (gammaln(a) - a * log_a) - a * log_sum + _log_normal(log_a)

    return of


def _weibull(problem: Problem) -> Energy:
    def of(theta, data):
        log_k = theta[-1]
        z = jnp.exp(log_k) * (data["log_y"] - data["X"] @ theta[:-1])
        return (jnp.exp(z) - data["known"] * (z + log_k)).sum() + _half_student(log_k, 2.5)

    return of


def _cutpoints(theta, d):
    return theta[d] + jnp.concatenate([jnp.zeros(1), jnp.cumsum(jnp.exp(theta[d + 1 :]))])


def _ordinal(problem: Problem) -> Energy:
    """``s(a) - s(b) = s(a) s(-b) (1 - e^{-(a-b)})``; logarithms of the cutpoints' distances, with their Jacobian.

    Cutpoints are picked by products with 0/1 columns: by index, their gradient takes XLA many times as long.
    """
    d, y = problem.arrays["X"].shape[1], problem.arrays["y"]
    first, last = y.min(), y.max()
    counts = jnp.asarray([np.sum(y == k) for k in np.arange(first + 1, last)], float)

    def of(theta, data):
        c, eta = _cutpoints(theta, d), data["X"] @ theta[:d]
        rows = data["not_last"] * jax.nn.softplus(eta - data["upper"] @ c)
        rows += data["not_first"] * jax.nn.softplus(data["lower"] @ c - eta)
        between = -counts @ jnp.log(-jnp.expm1(-jnp.diff(c)))
        return rows.sum() + between + 2.0 * jnp.log1p(c**2 / (3 * 2.5**2)).sum() - theta[d + 1 :].sum()

    return of


def _softmax(problem: Problem) -> Energy:
    d = problem.arrays["X"].shape[1]

    def of(theta, data):
        eta = data["X"] @ theta.reshape(-1, d).T
        eta = jnp.column_stack([jnp.zeros(len(eta)), eta])
        return jax.nn.logsumexp(eta, axis=1).sum() - (data["own"] * eta).sum()

    return of


def _beta(problem: Problem) -> Energy:
    def of(theta, data):
        log_phi, n = theta[-1], data["y"].size
        phi, eta = jnp.exp(log_phi), data["X"] @ theta[:-1]
        p = jax.nn.sigmoid(eta)
        a, b = p * phi, (1 - p) * phi
        rows = gammaln(a) + gammaln(b) - a * data["log_y"] - b * data["log_rest"]
        return rows.sum() - n * gammaln(phi) + _log_normal(log_phi)

    return of


def _zero_inflated(problem: Problem) -> Energy:
    def of(theta, data):
        logit, eta = theta[-1], data["X"] @ theta[:-1]
        mu = jnp.exp(eta)
        zero = jax.nn.softplus(logit) - jnp.logaddexp(logit, -mu)
        positive = jax.nn.softplus(logit) + mu - data["y"] * eta
        jacobian = jax.nn.softplus(logit) + jax.nn.softplus(-logit)
        return jnp.where(data["y"] == 0, zero, positive).sum() + jacobian

    return of


def _heteroscedastic(problem: Problem) -> Energy:
    d = problem.arrays["X"].shape[1]

    def of(theta, data):
        log_s = data["Z"] @ theta[d:]
        r = (data["y"] - data["X"] @ theta[:d]) * jnp.exp(-log_s)
        return (log_s + 0.5 * r * r).sum() + (theta[d:] ** 2).sum() / (2 * 2.5**2)

    return of


ENERGIES: dict[str, Callable[[Problem], Energy]] = {
    "gaussian": _residuals(lambda z: 0.5 * z * z),
    "student": _residuals(lambda z: 0.5 * (DF + 1) * jnp.log1p(z * z / DF)),
    "student-df": _student_df,
    "huber": _residuals(_huber),
    "logistic": _logistic,
    "poisson": _poisson,
    "negative-binomial": _negative_binomial,
    "gamma": _gamma,
    "weibull": _weibull,
    "ordinal": _ordinal,
    "softmax3": _softmax,
    "softmax4": _softmax,
    "beta": _beta,
    "zero-inflated": _zero_inflated,
    "heteroscedastic": _heteroscedastic,
}
_EXTRAS = {
    **dict.fromkeys(("gaussian", "student", "huber", "negative-binomial", "gamma", "weibull", "beta"), 1),
    "student-df": 2,
    "zero-inflated": 1,
}


def coefficients(problem: Problem) -> int:
    """How many of the parameters have the coefficients' prior."""
    d = problem.arrays["X"].shape[1]
    classes = int(problem.arrays["y"].max()) if problem.family.startswith("softmax") else 1
    return d * classes


def energy_of(problem: Problem) -> Energy:
    rows, d, sd = ENERGIES[problem.family](problem), coefficients(problem), problem.coefficient
    if not sd:
        return rows
    return lambda theta, data: rows(theta, data) + (theta[:d] ** 2).sum() / (2 * sd**2)


def unbounded(problem: Problem, points: np.ndarray) -> np.ndarray:
    """From parameters as users know them to real ones."""
    points, d = np.array(points, float), problem.arrays["X"].shape[1]
    if problem.family == "ordinal":
        points[..., d + 1 :] = np.log(np.diff(points[..., d:], axis=-1))
    elif problem.family == "zero-inflated":
        points[..., -1] = np.log(points[..., -1] / (1 - points[..., -1]))
    elif extras := _EXTRAS.get(problem.family, 0):
        points[..., -extras:] = np.log(points[..., -extras:])
    return points


def natural(problem: Problem, points: np.ndarray) -> np.ndarray:
    """And back."""
    points, d = np.array(points, float), problem.arrays["X"].shape[1]
    if problem.family == "ordinal":
        points[..., d + 1 :] = points[..., d : d + 1] + np.cumsum(np.exp(points[..., d + 1 :]), axis=-1)
    elif problem.family == "zero-inflated":
        points[..., -1] = 1 / (1 + np.exp(-points[..., -1]))
    elif extras := _EXTRAS.get(problem.family, 0):
        points[..., -extras:] = np.exp(points[..., -extras:])
    return points


# ----------------------------------------------------------------------------------------------------------- the run


def arrays_of(problem: Problem) -> dict:
    """The data, and what an energy wants computed once."""
    arrays = dict(problem.arrays)
    if problem.family == "ordinal":
        categories = np.unique(arrays["y"])
        arrays["upper"] = arrays["y"][:, None] == categories[:-1]
        arrays["lower"] = arrays["y"][:, None] == categories[1:]
        arrays["not_last"], arrays["not_first"] = arrays["y"] < categories[-1], arrays["y"] > categories[0]
    if problem.family.startswith("softmax"):
        arrays["own"] = arrays["y"][:, None] == np.unique(arrays["y"])
    if problem.family == "weibull":
        arrays["log_y"], arrays["known"] = np.log(arrays["y"]), arrays["censored"] == 0
    if problem.family == "beta":
        arrays["log_y"], arrays["log_rest"] = np.log(arrays["y"]), np.log1p(-arrays["y"])
    return {name: jnp.asarray(values, float) for name, values in arrays.items()}


def laplace(energy: Energy, start: np.ndarray, data: dict) -> tuple[np.ndarray, np.ndarray]:
    """The mode by Newton's method with halved steps, and a root of the inverse Hessian there."""
    value = jax.jit(energy)
    gradient = jax.jit(jax.grad(energy))
    curvature = jax.jit(
        lambda theta, data: jax.lax.map(
            lambda v: jax.jvp(lambda t: jax.grad(energy)(t, data), (theta,), (v,))[1], jnp.eye(theta.size)
        )
    )
    theta = jnp.asarray(start)
    for _ in range(30):
        g, H = np.asarray(gradient(theta, data)), np.asarray(curvature(theta, data))
        values, vectors = np.linalg.eigh((H + H.T) / 2)
        values = np.maximum(np.abs(values), 1e-10 * np.abs(values).max())
        move = -vectors @ ((vectors.T @ g) / values)
        if -g @ move < 1e-10:
            break
        before = float(value(theta, data))
        while not float(value(theta + move, data)) <= before + 1e-9 * abs(before) and np.abs(move).max() > 1e-14:
            move = move / 2
        theta = theta + move
    return np.asarray(theta), vectors / np.sqrt(values)


def warmup_draws(gradient_seconds: float, cap: float) -> int:
    """300 where a gradient is cheap; fewer, but 50 at least, where 16 gradients per draw would exceed the cap."""
    return int(np.clip(cap / (16 * gradient_seconds), 50, 300))


def run(problem: Problem, start: np.ndarray, cap: float, enough: int, seed: int) -> tuple[np.ndarray, dict]:
    numpyro.enable_x64()
    numpyro.set_platform("cpu")
    numpyro.set_host_device_count(1)
    data = arrays_of(problem)
    energy, begun = energy_of(problem), time.perf_counter()
    mode, root = laplace(energy, unbounded(problem, start), data)
    finding = time.perf_counter() - begun
    d, chunk, middle, L = mode.size, 1000, jnp.asarray(mode), jnp.asarray(root)

    slope = jax.jit(jax.grad(energy))
    slope(middle, data).block_until_ready()
    times = []
    for _ in range(5):
        before = time.process_time()
        slope(middle, data).block_until_ready()
        times.append(time.process_time() - before)
    warmup = warmup_draws(min(times), cap)

    def model(data):
        z = numpyro.sample("z", numpyro.distributions.ImproperUniform(numpyro.distributions.constraints.real, (), (d,)))
        numpyro.factor("rows", -energy(middle + L @ z, data))

    kernel = NUTS(model, init_strategy=init_to_value(values={"z": jnp.zeros(d)}))
    state = kernel.init(jax.random.PRNGKey(seed), warmup, None, (data,), {})

    @jax.jit
    def advance(state, n, data):
        def step(i, carried):
            state, kept, leaps = carried
            state = kernel.sample(state, (data,), {})
            return state, kept.at[i].set(state.z["z"]), leaps + state.num_steps

        return jax.lax.fori_loop(0, n, step, (state, jnp.zeros((chunk, d)), 0))

    leapfrogs = 0

    def draw(n: int) -> tuple[np.ndarray, float]:
        """Draws and the processor's seconds for them."""
        nonlocal state, leapfrogs
        kept, before = [], time.process_time()
        for first in range(0, n, chunk):
            size = min(chunk, n - first)
            state, values, leaps = advance(state, size, data)
            kept.append(np.asarray(values)[:size])
            leapfrogs += int(leaps)
        return np.concatenate(kept), time.process_time() - before

    begun = time.perf_counter()
    jax.block_until_ready(advance(state, 0, data))
    compiling = time.perf_counter() - begun
    _, warming = draw(warmup)
    _, seconds = draw(_PILOT)
    leapfrogs = 0
    n = max(_LEAST_DRAWS, min(enough, int(_PILOT * cap / seconds)))
    z, seconds = draw(n)
    figures = {
        "sampling_seconds": seconds,
        "warmup_seconds": warming,
        "compile_seconds": compiling,
        "mode_seconds": finding,
        "warmup": warmup,
        "draws": n,
        "gradient_seconds": min(times),
        "gradients_per_draw": leapfrogs / n,
    }
    return natural(problem, mode + z @ root.T), figures


def main() -> None:
    folder, cap, enough, *seed, result = sys.argv[1:]
    keep_to_cores(1)
    warnings.simplefilter("ignore")
    start = np.load(Path(folder) / "start.npy")
    (Path(folder) / "start.npy").unlink()
    draws, figures = run(load(Path(folder)), start, float(cap), int(enough), int(seed[0]) if seed else 1)
    effective = min_ess(draws)
    np.save(Path(folder) / "nuts.npy", draws)
    figures |= {
        "status": "ok",
        "min_ess": effective,
        "ess_per_second": effective / figures["sampling_seconds"],
        "versions": versions("numpyro", "jax", "arviz-stats"),
    }
    Path(result).write_text(json.dumps(figures))


if __name__ == "__main__":
    main()
