"""Where the Laplace law is wrong: proposals about the mode or the mean, and the share of heavy-tailed steps (spec 5g).

    python benchmarks/laplace.py [--out benchmarks/results]

First, acceptance and effective draws per step with the Gaussian of the proposals about the mode, about the mean, and
with the expansion moved to the mean. Second, 25 rows under a flat prior: over ten seeds, the worst standard score of a
mean or a mean square against quadrature, and the effective draws per step that each chain claims.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from arviz_stats import ess

import tunamh
from common import RESULTS, machine, min_ess, print_table, write_json
from problems import make
from tunamh import MHSS, Autoregressive
from tunamh.targets.search.newton import find_mode

MINIBATCH = MHSS(delayed=False)
PROBLEMS = ["logistic-1e4x50", "logistic-2e3x50", "mnist79", "student-1e4x50"]
SHARES = [0.0, 0.03, 0.2, 0.5]


def expansions(target: tunamh.GLM) -> dict[str, tunamh.Target]:
    """The same target three times; a skew of zero puts the proposals about the mode."""

    def about(point):
        return target.taylor(2, point, target.expansion(point), whiten=True, original_bounds=False)

    mode = find_mode(target).point
    at_mode, about_mean = about(mode), about(mode)
    return {
        "mode": at_mode.with_skew(np.zeros(target.dim)),
        "mean": about_mean,
        "mean, expanded there": about(about_mean.reference),
    }


def compare(name: str, draws: int = 20_000) -> list[dict]:
    problem = make(name)
    family = tunamh.Logistic() if problem.family == "logistic" else tunamh.StudentT(4.0, scale=1.0)
    results = []
    for about, target in expansions(tunamh.GLM(problem.X, problem.y, family)).items():
        proposal = Autoregressive(rho=0.0, robust_share=0.03)
        tree = tunamh.sample(target, test=MINIBATCH, proposal=proposal, draws=draws, chains=1, rng=1, progressbar=False)
        theta = tree.posterior["theta"]
        results.append(
            {
                "problem": name,
                "about": about,
                "skew": float(np.linalg.norm(target.skew)) / np.sqrt(target.dim),
                "acceptance": float(tree.sample_stats["acceptance_rate"].mean()),
                "ess_per_step": min_ess(theta.values[0]) / draws,
            }
        )
    return results


def few_rows() -> tuple[tunamh.Target, np.ndarray]:
    """A skewed posterior of two parameters, and its means and mean squares by the midpoint rule."""
    rng = np.random.default_rng(24)
    X = rng.standard_normal((25, 2)) * [1.0, 1.5]
    y = (rng.random(25) < 1 / (1 + np.exp(-X @ [1.5, -1.0]))).astype(float)
    edges = np.linspace(-4, 12, 481), np.linspace(-9, 3, 481)
    grid = np.stack(np.meshgrid(*(0.5 * (e[1:] + e[:-1]) for e in edges), indexing="ij"), axis=-1)
    eta = grid @ X.T
    log_density = -(np.logaddexp(0, eta) - y * eta).sum(axis=-1)
    weight = np.exp(log_density - log_density.max())[..., None]
    return tunamh.LogisticRegression(X, y), np.concatenate(
        [(weight * g).sum((0, 1)) / weight.sum() for g in (grid, grid**2)]
    )


def tails(share: float, seeds: int = 10) -> dict:
    target, truth = few_rows()
    worst, claimed = [], []
    for seed in range(seeds):
        proposal = Autoregressive(robust_share=share)
        settings = {"draws": 25_000, "tune": 1000, "chains": 4, "progressbar": False}
        tree = tunamh.sample(target, test=MINIBATCH, proposal=proposal, rng=seed, **settings)
        theta = tree.posterior["theta"].values
        values = np.concatenate([theta, theta**2], axis=-1)
        effective = np.array([float(ess(values[..., j])) for j in range(4)])
        error = values.std(axis=(0, 1)) / np.sqrt(effective)
        worst.append(float(np.abs((values.mean(axis=(0, 1)) - truth) / error).max()))
        claimed.append(float(effective[:2].min()) / theta[..., 0].size)
    return {"share": share, "worst_score": max(worst), "least_claimed": min(claimed), "most_claimed": max(claimed)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    centres = [result for name in PROBLEMS for result in compare(name)]
    columns = ["problem", "about", "skew", "acceptance", "ess_per_step"]
    cells = [[c["problem"], c["about"], *(f"{c[k]:.2f}" for k in columns[2:])] for c in centres]
    print_table("proposals about the mode or the mean", columns, cells, text=2)
    shares = [tails(share) for share in SHARES]
    print_table("25 rows, by share of other steps", list(shares[0]), [[f"{v:.2f}" for v in s.values()] for s in shares])
    write_json(options.out / "laplace.json", {"machine": machine(), "centres": centres, "tails": shares})


if __name__ == "__main__":
    main()
