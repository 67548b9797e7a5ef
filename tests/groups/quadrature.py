"""Moments of small models with random intercepts by quadrature: a grid over (beta, log s), and one line per group."""

from __future__ import annotations

import numpy as np


def _given_shared(x, y, codes, energy, grids, prior_sd, scale_sd):
    """On the grid of (beta, log s): the log density, and first and second moments of every effect."""
    beta, lam, u = grids
    points = beta.size
    groups = int(codes.max()) + 1
    du = u[1] - u[0]
    log_like = np.empty((groups, points, u.size))
    for g in range(groups):
        rows = codes == g
        eta = x[rows][:, None, None] * beta[None, :, None] + u[None, None, :]
        log_like[g] = -energy(eta, y[rows][:, None, None]).sum(axis=0)
    log_total = np.zeros((points, lam.size))
    first, second = np.empty((groups, points, lam.size)), np.empty((groups, points, lam.size))
    s = np.exp(lam)
    # u = s t for narrow laws: the grid in u is too coarse where s is small, so integrate over t there; grids of a third
    # of a standard deviation are exact to ten digits, as sums of smooth functions are that end nowhere
    t = np.linspace(-9.0, 9.0, 61)
    dt = t[1] - t[0]
    for g in range(groups):
        rows = codes == g
        top = log_like[g].max()
        for k in range(lam.size):
            if s[k] < 0.3:
                eta = x[rows][:, None, None] * beta[None, :, None] + (s[k] * t)[None, None, :]
                weight = np.exp(-energy(eta, y[rows][:, None, None]).sum(axis=0) - top - 0.5 * t**2) * dt
                nodes = s[k] * t
            else:
                weight = np.exp(log_like[g] - top - 0.5 * (u / s[k]) ** 2) * du / s[k]
                nodes = u
            total = weight.sum(axis=1) + 1e-300
            log_total[:, k] += np.log(total) + top
            first[g, :, k] = weight @ nodes / total
            second[g, :, k] = weight @ nodes**2 / total
    log_post = log_total - 0.5 * (beta[:, None] / prior_sd) ** 2 + lam[None, :] - 0.5 * (s[None, :] / scale_sd) ** 2
    return log_post, first, second


def moments_by_quadrature(x, y, codes, energy, *, prior_sd, scale_sd):
    """Means and mean squares of ``beta`` (one column), ``log s`` and the effects; s half-normal(scale_sd)."""
    grids = np.linspace(-6.0, 6.0, 141), np.linspace(-18.0, 3.0, 253), np.linspace(-20.0, 20.0, 401)
    log_post, first, second = _given_shared(x, y, codes, energy, grids, prior_sd, scale_sd)
    weight = np.exp(log_post - log_post.max())
    weight /= weight.sum()
    beta, lam, _ = grids
    means = [(weight.sum(axis=1) * beta).sum(), (weight.sum(axis=0) * lam).sum(), *(weight * first).sum(axis=(1, 2))]
    seconds = [(weight.sum(axis=1) * beta**2).sum(), (weight.sum(axis=0) * lam**2).sum()]
    return np.array(means), np.array([*seconds, *(weight * second).sum(axis=(1, 2))])


def means_with_shared(x, y, codes, energies, log_priors, shared, *, prior_sd, scale_sd):
    """Means of ``beta``, ``log s``, the effects, and a number that all rows share, on the grid ``shared``.

    ``energies[k](eta, y)`` and ``log_priors[k]`` are at ``shared[k]``.
    """
    grids = np.linspace(-1.0, 2.0, 41), np.linspace(-9.0, 2.0, 67), np.linspace(-8.0, 8.0, 161)
    found = [_given_shared(x, y, codes, energy, grids, prior_sd, scale_sd) for energy in energies]
    logs = np.array([log_post for log_post, _, _ in found]) + np.asarray(log_priors)[:, None, None]
    weight = np.exp(logs - logs.max())
    weight /= weight.sum()
    beta, lam, _ = grids
    effects = sum((w * first).sum(axis=(1, 2)) for w, (_, first, _) in zip(weight, found, strict=True))
    own = [(weight.sum(axis=(0, 2)) * beta).sum(), (weight.sum(axis=(0, 1)) * lam).sum()]
    return np.array([*own, *effects, (weight.sum(axis=(1, 2)) * shared).sum()])


def moments_of_known_scales(log_like, nodes, log_prior, shared, log_prior_of_shared):
    """Means and mean squares of what all rows share, and of the effects of every group, whose scales are known.

    ``log_like`` is (groups, points, nodes): of a group's rows at ``shared[point]`` and effects ``nodes[node]``, with
    ``log_prior`` of the nodes; all grids are even.
    """
    total, first, second = log_prior_of_shared.copy(), [], []
    for of_group in log_like:
        of_group = of_group + log_prior
        top = of_group.max(axis=1, keepdims=True)
        weight = np.exp(of_group - top)
        mass = weight.sum(axis=1, keepdims=True)
        total += np.log(mass[:, 0]) + top[:, 0]
        first.append((weight @ nodes) / mass)
        second.append((weight @ nodes**2) / mass)
    weight = np.exp(total - total.max())
    weight /= weight.sum()
    return tuple(
        np.concatenate([weight @ shared**k, *(weight @ each for each in of)]) for k, of in ((1, first), (2, second))
    )
