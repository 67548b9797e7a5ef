"""Moments of small models with random intercepts by quadrature: a grid over (beta, log s), and one line per group."""

from __future__ import annotations

import numpy as np


def moments_by_quadrature(x, y, codes, energy, *, prior_sd, scale_sd, points=141):
    """Means and standard deviations of ``beta`` (one column), ``log s`` and the effects; s half-normal(scale_sd)."""
    groups = int(codes.max()) + 1
    beta = np.linspace(-6.0, 6.0, points)
    lam = np.linspace(-18.0, 3.0, 253)
    u = np.linspace(-20.0, 20.0, 1601)
    du = u[1] - u[0]
    log_like = np.empty((groups, points, u.size))
    for g in range(groups):
        rows = codes == g
        eta = x[rows][:, None, None] * beta[None, :, None] + u[None, None, :]
        log_like[g] = -energy(eta, y[rows][:, None, None]).sum(axis=0)
    log_total = np.zeros((points, lam.size))
    first, second = np.empty((groups, points, lam.size)), np.empty((groups, points, lam.size))
    s = np.exp(lam)
    # u = s t for narrow laws: the grid in u is too coarse where s is small, so integrate over t there
    t = np.linspace(-9.0, 9.0, 361)
    dt = t[1] - t[0]
    for g in range(groups):
        rows = codes == g
        for k in range(lam.size):
            if s[k] < 0.3:
                eta = x[rows][:, None, None] * beta[None, :, None] + (s[k] * t)[None, None, :]
                weight = np.exp(-energy(eta, y[rows][:, None, None]).sum(axis=0) - 0.5 * t**2) * dt
                nodes = s[k] * t
            else:
                weight = np.exp(log_like[g] - 0.5 * (u / s[k]) ** 2) * du / s[k]
                nodes = u
            total = weight.sum(axis=1) + 1e-300
            log_total[:, k] += np.log(total)
            first[g, :, k] = weight @ nodes / total
            second[g, :, k] = weight @ nodes**2 / total
    log_post = log_total - 0.5 * (beta[:, None] / prior_sd) ** 2 + lam[None, :] - 0.5 * (s[None, :] / scale_sd) ** 2
    weight = np.exp(log_post - log_post.max())
    weight /= weight.sum()
    means = [float((weight.sum(axis=1) * beta).sum()), float((weight.sum(axis=0) * lam).sum())]
    seconds = [float((weight.sum(axis=1) * beta**2).sum()), float((weight.sum(axis=0) * lam**2).sum())]
    means += [float((weight * first[g]).sum()) for g in range(groups)]
    seconds += [float((weight * second[g]).sum()) for g in range(groups)]
    return np.array(means), np.array(seconds)
