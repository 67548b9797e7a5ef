"""What all estimators share: from ``X, y`` to a posterior, and from its draws to predictions, in chunks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from ..priors.default import INTERCEPT
from ..sampling.sample import sample
from ..tables.libraries import is_sparse
from ..tables.sparse import checked_rows
from ..targets.designs.base import NamedDesign
from ..targets.families.base import BaseFamily, Location
from ..targets.families.likelihood import OnePredictorLikelihood
from ..targets.glm import GLM
from ..targets.grown import refuse_not_growing
from ..targets.observations.inputs import as_design
from .coefficient_prior import columns_of, prior_of

MOST_DRAWS = 400
"""Of the posterior, evenly spaced, by which a mean over draws is taken: its error is a twentieth of their spread."""

_VALUES_AT_ONCE = 1 << 21  # predictors that are in memory at once

KINDS = ("mean", "linear", "response")


class PosteriorEstimator(BaseEstimator, ABC):
    """Base class of estimators whose fit is a posterior. The derived classes have the details."""

    # what every constructor sets
    prior: Any
    fit_intercept: bool
    draws: int
    tune: int
    chains: int
    thin: int
    cores: int | None
    random_state: Any
    progressbar: bool

    _target: Any
    """Of all rows of `partial_fit`, with what is kept of them."""

    _of_parts = False
    """Whether the last fit was a `partial_fit`."""

    # ------------------------------------------------------------------------------------------------------ fitting

    def _checked(
        self, X: Any, y: Any, sample_weight: Any, first_call: bool = True, **of_y: Any
    ) -> tuple[Any, Any, np.ndarray]:
        """Numbers, responses and weights; rows of weight zero are left out, as if they had not been there."""
        if is_sparse(X):
            X = checked_rows(X, "X")
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=(np.float64, np.float32), reset=first_call, **of_y)
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        kept = weights > 0
        if not kept.any():
            raise ValueError("sample_weight is zero in every row, so there are no data to fit.")
        return (X, y, weights) if kept.all() else (X[kept], y[kept], weights[kept])

    def _sampled(
        self, X: Any, y: Any, weights: np.ndarray, family: Any, location: Location, classes: Sequence[str] = ()
    ) -> None:
        """Set ``posterior_``; ``classes`` are those that have coefficients of their own."""
        names = self._names[int(bool(self.fit_intercept)) :]
        intercepts = [f"{INTERCEPT}[{name}]" for name in classes] or [INTERCEPT] if self.fit_intercept else []
        prior = prior_of(self.prior, names, columns_of(X, weights), location, intercepts)
        weighted = None if (weights == 1.0).all() else weights
        self._draw(GLM(self._design(X), y, family, prior=prior, weights=weighted))

    def _grown(self, X: Any, y: np.ndarray, weights: np.ndarray) -> None:
        """Set ``posterior_`` to that of the rows of all calls, without a pass over the rows of earlier ones.

        Rows always have weights here, since later ones may.
        """
        self._target = self._target.with_rows(self._design(X), y, weights=weights)
        self._draw(self._target)

    def _begun(self, X: Any, y: np.ndarray, weights: np.ndarray, family: Any, location: Location) -> None:
        """The first of several calls, whose rows decide on the default prior."""
        names = self._names[int(bool(self.fit_intercept)) :]
        intercepts = [INTERCEPT] if self.fit_intercept else []
        prior = prior_of(self.prior, names, columns_of(X, weights), location, intercepts)
        target = GLM(self._design(X), y, family, prior=prior, weights=weights)
        refuse_not_growing(target)
        self._target = target
        self._draw(target)

    def _draw(self, target: GLM) -> None:
        self.posterior_ = sample(
            target,
            draws=self.draws,
            tune=self.tune,
            chains=self.chains,
            thin=self.thin,
            cores=self.cores,
            rng=self._seed(),
            progressbar=self.progressbar,
        )

    def _seed(self) -> int:
        """A whole number is the seed of `tunamh.sample` itself."""
        if isinstance(self.random_state, int | np.integer):
            return int(self.random_state)
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    @property
    def _names(self) -> list[str]:
        given = vars(self).get("feature_names_in_")  # which scikit-learn sets where columns have names
        features = [f"x{j}" for j in range(self.n_features_in_)] if given is None else [str(name) for name in given]
        if self.fit_intercept and INTERCEPT in features:
            raise ValueError(
                f"a feature has the name {INTERCEPT}, which is the name of the intercept: rename it, or set "
                f"fit_intercept=False."
            )
        return [INTERCEPT, *features] if self.fit_intercept else features

    def _design(self, X: Any) -> Any:
        """With a column of ones in front, and the columns' names."""
        from scipy import sparse

        if self.fit_intercept:
            ones = np.ones((X.shape[0], 1), dtype=X.dtype)
            sides = [sparse.csr_matrix(ones), X] if sparse.issparse(X) else [ones, X]
            X = sparse.hstack(sides, format="csr") if sparse.issparse(X) else np.hstack(sides)
        return NamedDesign(as_design(X)[0], self._names)

    # --------------------------------------------------------------------------------------------------- predicting

    def _theta(self, most: int | None = None) -> np.ndarray:
        """Draws of the coefficients (draw, parameter), all or some of them, evenly spaced over all chains."""
        return _spaced(self.posterior_.posterior["theta"].values, most)

    def _others(self, most: int | None = None) -> dict[str, np.ndarray]:
        """Draws of the family's parameters beside the coefficients."""
        posterior = self.posterior_.posterior
        return {
            str(name): _spaced(values.values, most)
            for name, values in posterior.data_vars.items()
            if name != "theta" and values.ndim == 2
        }

    def _read(self, X: Any) -> Any:
        check_is_fitted(self)
        if is_sparse(X):
            X = checked_rows(X, "X")
        return validate_data(self, X, accept_sparse="csr", dtype=(np.float64, np.float32), reset=False)

    def _in_chunks(self, X: Any, draws: int, function: Callable[[Any], Any]) -> np.ndarray:
        """``function`` of blocks of rows that have ``draws`` predictors each, joined."""
        return np.concatenate([function(X[rows]) for rows in _blocks(X.shape[0], draws)])

    def _eta(self, X: Any, theta: np.ndarray) -> np.ndarray:
        """Linear predictors (row, draw)."""
        first = int(bool(self.fit_intercept))
        eta = np.asarray(X @ theta[:, first:].T, dtype=np.float64)
        return eta + theta[:, 0] if first else eta

    def sample_posterior(
        self, X: Any, n_samples: int = 100, *, kind: str = "mean", random_state: Any = None
    ) -> np.ndarray:
        """Return draws from the posterior for every row, an array (N, draws).

        For a classifier with ``kind="mean"`` or ``"linear"`` the shape is (N, classes, draws).

        Parameters
        ----------
        X : (N, features)
            The rows.
        n_samples : int
            Number of draws, evenly spaced among those of ``posterior_``.
        kind : {"mean", "linear", "response"}
            Draw the mean of the response (for a classifier: the class probabilities), the linear predictor, or a new
            response.
        random_state
            The seed of the new responses, for ``kind="response"``.
        """
        X = self._read(X)
        available = self.posterior_.posterior["theta"].values[..., 0].size
        if not 1 <= n_samples <= available:
            raise ValueError(
                f"n_samples must be 1 to {available}, the draws there are, got {n_samples}: fit with more draws=."
            )
        drawn = self._drawer(n_samples, kind, random_state)
        return self._in_chunks(X, n_samples, drawn)

    def _drawer(self, draws: int, kind: str, random_state: Any) -> Callable[[Any], np.ndarray]:
        """By which blocks of rows become draws of one kind."""
        if kind not in KINDS:
            raise ValueError(f"kind must be one of {', '.join(KINDS)}, got {kind!r}.")
        rng = np.random.default_rng(check_random_state(random_state).randint(2**31 - 1))
        theta, others = self._theta(draws), self._others(draws)
        return lambda rows: self._drawn(rows, theta, others, kind, rng)

    @abstractmethod
    def _drawn(self, X: Any, theta: np.ndarray, others: dict[str, np.ndarray], kind: str, rng: Any) -> np.ndarray:
        """Draws of one kind for the rows of ``X``, by draws of the coefficients and of what else is unknown."""

    def interval(self, X: Any, level: float = 0.9, *, kind: str = "mean", random_state: Any = None) -> np.ndarray:
        """Return central posterior intervals for every row, an array (N, 2).

        The last axis has the lower and the upper end.

        Parameters
        ----------
        X : (N, features)
            The rows.
        level : float
            The probability of the intervals.
        kind : "mean", "linear" or "response"
            ``"mean"``: intervals of the mean response. ``"linear"``: intervals of the linear predictor. ``"response"``:
            intervals of a new response.
        random_state : int, RandomState or None
            The seed of the new responses, for ``kind="response"``.
        """
        tails = tails_of(level)
        X = self._read(X)
        most = min(MOST_DRAWS, self.posterior_.posterior["theta"].values[..., 0].size)
        drawn = self._drawer(most, kind, random_state)

        def ends(rows: Any) -> np.ndarray:
            return np.moveaxis(np.quantile(drawn(rows), tails, axis=-1), 0, -1)

        return self._in_chunks(X, most, ends)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _blocks(n_rows: int, draws: int) -> Iterator[slice]:
    size = max(1, _VALUES_AT_ONCE // max(draws, 1))
    return (slice(start, start + size) for start in range(0, n_rows, size))


def _spaced(values: np.ndarray, most: int | None) -> np.ndarray:
    """Draws (chain, draw, ...) one after the other."""
    flat = values.reshape(-1, *values.shape[2:])
    if most is None or len(flat) <= most:
        return flat
    return flat[np.linspace(0, len(flat) - 1, most).round().astype(int)]


def grows(family: Any) -> bool:
    """Return True if rows can be added to a regression of this family; False if it is no family with one predictor.

    Raise AttributeError with the reason if the family has other unknown parameters, several classes or no convex
    energy.
    """
    if not isinstance(family, BaseFamily) or not isinstance(family, OnePredictorLikelihood):
        return False
    unknown = set(family.parameters) - set(family.known_parameters())
    if unknown or not family.convex or family.of_classes:
        raise AttributeError(
            f"partial_fit needs a family without unknown parameters, and {family!r} has an unknown "
            f"{', '.join(sorted(unknown))}: use fit."
            if unknown
            else f"partial_fit cannot be used with {family!r}: use fit."
        )
    return True


def tails_of(level: float) -> list[float]:
    if not 0 < level < 1:
        raise ValueError(f"level must lie between 0 and 1, such as 0.9, got {level!r}.")
    return [0.5 - level / 2, 0.5 + level / 2]
