"""The models of `models.py` and `real_models.py`: data, priors, and what tunamh makes of them.

A model is named by its family; a `Problem` has the family, the arrays and two numbers of its priors. NumPy only at the
top: the peers' environment, which has no tunamh, reads it too.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

DF = 4.0
DELTA = 1.345
CATEGORIES = 5
_BLOCK = 50_000

FAMILIES = {
    "gaussian": "Gaussian, unknown scale",
    "student": "Student-t (df 4), unknown scale",
    "student-df": "Student-t, unknown scale and df",
    "huber": "Huber, unknown scale",
    "poisson": "Poisson",
    "negative-binomial": "negative binomial, unknown dispersion",
    "gamma": "Gamma, unknown shape",
    "weibull": "Weibull, two fifths censored, unknown shape",
    "ordinal": "ordinal, 5 categories",
    "softmax3": "softmax, 3 classes",
    "softmax4": "softmax, 4 classes",
    "beta": "Beta, unknown precision",
    "zero-inflated": "zero-inflated Poisson",
    "heteroscedastic": "Gaussian, log scale by 5 columns",
}
PRIORS = {
    "scale": "half-Student-t(3, width)",
    "shape of Weibull": "half-Student-t(3, 2.5)",
    "df": "Gamma(shape 2, scale 10)",
    "dispersion, shape of Gamma, precision": "log-normal(1, 2)",
    "cutpoint": "Student-t(3, 0, 2.5) each, increasing",
    "inflation": "uniform",
    "coefficients of the log scale": "normal(0, 2.5)",
}


class Problem(NamedTuple):
    """``coefficient`` is the standard deviation of the coefficients' normal prior, 0 for a flat one; ``width`` that of
    the half-Student-t prior of a scale. The other priors are those of `PRIORS`."""

    family: str
    arrays: dict[str, np.ndarray]  # X, y and, where the family has them, censored and Z
    coefficient: float = 0.0
    width: float = 2.5


def save(problem: Problem, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    numbers = {"family": problem.family, "coefficient": problem.coefficient, "width": problem.width}
    (folder / "problem.json").write_text(json.dumps(numbers))
    for name, values in problem.arrays.items():
        np.save(folder / f"{name}.npy", values)


def load(folder: Path) -> Problem:
    numbers = json.loads((folder / "problem.json").read_text())
    arrays = {path.stem: np.load(path) for path in folder.glob("*.npy")}
    return Problem(numbers["family"], arrays, numbers["coefficient"], numbers["width"])


# ---------------------------------------------------------------------------------------------------- simulated data


def simulate(family: str, n_rows: int, d: int, seed: int = 0) -> Problem:
    """``x ~ N(0, I)``, ``theta ~ N(0, I / d)``, halved where the mean is an exponential; made in blocks."""
    rng = np.random.default_rng([seed, n_rows, d, sorted(FAMILIES).index(family)])
    classes = int(family[-1]) - 1 if family.startswith("softmax") else 1
    theta = rng.standard_normal((d, classes)) / np.sqrt(d)
    arrays = {"X": np.empty((n_rows, d)), "y": np.empty(n_rows)}
    if family == "weibull":
        arrays["censored"] = np.zeros(n_rows)
    if family == "heteroscedastic":
        arrays["Z"] = np.ones((n_rows, 5))
    for start in range(0, n_rows, _BLOCK):
        block = slice(start, min(start + _BLOCK, n_rows))
        rng.standard_normal(out=arrays["X"][block])
        responses = _responses(family, arrays["X"][block] @ theta, arrays["X"][block], rng)
        for name, values in responses.items():
            arrays[name][block] = values
    return Problem(family, arrays)


def _responses(family: str, eta: np.ndarray, x: np.ndarray, rng: np.random.Generator) -> dict[str, np.ndarray]:
    n, mean = len(eta), np.exp(0.5 * eta[:, 0])
    if family.startswith("softmax"):
        noisy = np.column_stack([np.zeros(n), eta]) + rng.gumbel(size=(n, eta.shape[1] + 1))
        return {"y": noisy.argmax(axis=1)}
    if family == "ordinal":
        cuts = np.array([-1.5, -0.5, 0.5, 1.5])
        return {"y": 1 + np.searchsorted(cuts, eta[:, 0] + rng.logistic(size=n))}
    if family == "weibull":
        times = mean * rng.weibull(1.5, n)
        ends = 2 * mean.mean() * rng.random(n)
        return {"y": np.minimum(times, ends), "censored": times > ends}
    if family == "heteroscedastic":
        Z = np.column_stack([np.ones(n), x[:, :4]])
        return {"y": eta[:, 0] + np.exp(Z @ [0.0, 0.3, -0.2, 0.1, 0.0]) * rng.standard_normal(n), "Z": Z}
    if family == "beta":
        p = 1 / (1 + np.exp(-eta[:, 0]))
        return {"y": np.clip(rng.beta(10 * p, 10 * (1 - p)), 1e-12, 1 - 1e-12)}
    draw = {
        "gaussian": lambda: eta[:, 0] + rng.standard_normal(n),
        "student": lambda: eta[:, 0] + rng.standard_t(DF, n),
        "student-df": lambda: eta[:, 0] + rng.standard_t(DF, n),
        "huber": lambda: eta[:, 0] + rng.standard_t(DF, n),
        "poisson": lambda: rng.poisson(mean),
        "negative-binomial": lambda: rng.poisson(mean * rng.gamma(2.0, 0.5, n)),
        "gamma": lambda: mean * rng.gamma(2.0, 0.5, n),
        "zero-inflated": lambda: rng.poisson(2 * mean) * (rng.random(n) > 0.3),
    }
    return {"y": draw[family]()}


# ------------------------------------------------------------------------------------------------------------ tunamh


def target(problem: Problem) -> Any:
    """The regression as tunamh is asked for it."""
    import tunamh
    from tunamh import priors

    scale, wide = priors.HalfStudentT(3, problem.width), priors.LogNormal(1, 2)
    families = {
        "gaussian": lambda: tunamh.Gaussian(scale),
        "student": lambda: tunamh.StudentT(DF, scale),
        "student-df": lambda: tunamh.StudentT(priors.Gamma(2, 10), scale),
        "huber": lambda: tunamh.Huber(DELTA, scale),
        "poisson": lambda: tunamh.Poisson(),
        "negative-binomial": lambda: tunamh.NegativeBinomial(wide),
        "gamma": lambda: tunamh.Gamma(wide),
        "weibull": lambda: tunamh.Weibull(priors.HalfStudentT(3, 2.5)),
        "ordinal": lambda: tunamh.Ordinal(priors.StudentT(df=3, scale=2.5)),
        "beta": lambda: tunamh.Beta(wide),
        "zero-inflated": lambda: tunamh.ZeroInflated(tunamh.Poisson()),
        "heteroscedastic": lambda: tunamh.Gaussian(priors.Normal(scale=2.5)),
    }
    family = families.get(problem.family, tunamh.Categorical)()
    beside: dict[str, Any] = {}
    if "censored" in problem.arrays:
        beside["censored"] = problem.arrays["censored"]
    if "Z" in problem.arrays:
        beside["predictors"] = {"scale": problem.arrays["Z"]}
    prior = priors.Normal(scale=problem.coefficient) if problem.coefficient else None
    return tunamh.GLM(problem.arrays["X"], problem.arrays["y"], family, prior=prior, **beside)


def columns_of(posterior: Any) -> tuple[np.ndarray, list[str]]:
    """All parameters of one chain side by side, coefficients first, with their names."""
    draws, names = [], []
    for name, values in posterior.posterior.data_vars.items():
        columns = values.values[0].reshape(values.sizes["draw"], -1)
        labels = values.coords[values.dims[-1]].values if columns.shape[1] > 1 or values.ndim > 2 else [""]
        draws.append(columns)
        names += [f"{name}[{label}]" if str(label) else str(name) for label in labels]
    return np.column_stack(draws), names
