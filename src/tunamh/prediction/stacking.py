"""Weights of models in the mixture that predicts left-out rows best (stacking; Yao et al. 2018)."""

from __future__ import annotations

import numpy as np

from .left_out import LeftOut

_MOST_ROWS = 200_000  # evenly spaced: the mean over so many rows is known well enough


def stacking_weights(found: LeftOut) -> np.ndarray | None:
    """Return the stacking weights ``argmax_w sum_i log sum_k w_k p_k(y_i | all rows but i)``.

    Rows of the subsample have exact densities, the others have approximations. The result is None if there are too many
    rows, or if rows have weights.
    """
    if found.weights is not None or found.kept is None:
        return None
    values = found.kept.copy()
    values[:, found.places] = found.exact[: found.models]
    every = max(1, values.shape[1] // _MOST_ROWS)
    values = values[:, ::every]
    return _best_mixture(np.exp(values - values.max(axis=0)))


def _best_mixture(densities: np.ndarray) -> np.ndarray:
    """Maximise a concave function over the simplex."""
    from scipy.optimize import minimize

    models, rows = densities.shape

    def objective(w: np.ndarray) -> tuple[float, np.ndarray]:
        mixed = np.maximum(w @ densities, 1e-300)
        return -float(np.log(mixed).sum()) / rows, -(densities / mixed).sum(axis=1) / rows

    start = np.full(models, 1.0 / models)
    whole = {"type": "eq", "fun": lambda w: w.sum() - 1.0, "jac": lambda w: np.ones(models)}
    found = minimize(
        objective, start, jac=True, bounds=[(0.0, 1.0)] * models, constraints=[whole], options={"ftol": 1e-12}
    )
    weights = np.clip(found.x, 0.0, 1.0)
    return weights / weights.sum()
