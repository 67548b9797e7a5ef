"""`tunamh.loo`: how well a model predicts rows that it was not fitted to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._arguments import explained, whole_number
from .fitted import Fitted
from .left_out import LeftOut, left_out, opened_to_leave_out
from .reliability import good_k

if TYPE_CHECKING:
    from .elpd import LooEstimate


@explained
def loo(
    posterior: Any, data: Any, *, rows: int = 1000, draws: int | None = None, family: Any = None, rng: Any = None
) -> LooEstimate:
    """Estimate how well a model predicts new rows, by leave-one-out cross-validation.

    The result is the sum over all rows ``i`` of ``log p(y_i | all rows but i)``, the expected log predictive density
    (elpd). It is computed by Pareto smoothed importance sampling (Vehtari, Gelman and Gabry 2017) for a random
    subsample of ``rows`` rows. For all rows, one pass over the data computes an approximation in closed form; the
    subsample corrects the error of this approximation (the difference estimator of Magnusson et al. 2020). If the data
    have at most ``rows`` rows, importance sampling is used for all rows.

    Parameters
    ----------
    posterior : DataTree
        The result of a target made by `tunamh.regression`.
    data : table
        The data of the fit: a data frame, or rows in files (`tunamh.open_rows`). Rows with missing values are dropped.
    rows : int
        Size of the random subsample.
    draws : int, optional
        Number of posterior draws to use: evenly spaced, the same number from every chain. Default: at most 1000. If
        the data have fewer than 1000 rows, at most 1,000,000 divided by the number of rows.
    family : optional
        Your own family (`tunamh.family`) again, because a result does not contain code.
    rng : seed, optional
        The seed of the random subsample.

    Returns
    -------
    ELPDData of ArviZ
        ``elpd`` and its standard error ``se``; ``subsampling_se`` is the part of this error that comes from the
        subsample. ``p`` is the effective number of parameters. ``elpd_i`` and ``pareto_k`` have a value for each row of
        the subsample, and NaN for the other rows. ``elpd_loo_approx`` has the approximation for all rows. (With more
        than 10 million rows, these three have only the rows of the subsample.) ``large_k`` has the numbers of the rows
        with an unreliable value (``pareto_k > good_k``).

    Raises
    ------
    NotApplicable
        If the model was not made from a formula, or if weights or trials were passed as arrays.

    Notes
    -----
    A row of weight ``w`` counts as ``w`` rows: the whole row is left out, and its log predictive density is multiplied
    by ``w``, ``elpd = sum_i w_i log p(y_i | all rows but i)``.

    If a row is in a group with up to 10 rows, the effects of this group in the predictor of the formula (not in
    ``predictors=``) are integrated out, given the other rows of the group (Merkle, Furr and Rabe-Hesketh 2019). For
    this, the data are read a second time if they have more than ``rows`` rows.

    Examples
    --------
    >>> estimate = tunamh.loo(posterior, flights, rng=1)
    >>> estimate.elpd, estimate.se
    """
    fitted = opened_to_leave_out(posterior, draws, family)
    size = whole_number("rows", rows, 1)
    return estimate_of(left_out({"": fitted}, data, size, np.random.default_rng(rng)), 0, fitted)


def estimate_of(found: LeftOut, model: int, fitted: Fitted) -> LooEstimate:
    """Return the estimate for one model in the form of ArviZ."""
    import xarray

    from .elpd import LooEstimate

    c, k = found.contrast(model), found.pareto_k[model]
    limit = good_k(len(fitted.picked))
    everything = found.whole or found.kept is None
    values, diagnostic, numbers = found.exact[model], k, found.numbers
    if not everything:
        assert found.kept is not None
        values, diagnostic = np.full((2, found.n_rows), np.nan)
        values[found.places], diagnostic[found.places] = found.exact[model], k
        numbers = np.arange(found.n_rows)
    place = {"row": numbers} if everything else {}
    of_sample: dict[str, Any] = {}
    if not found.whole:
        of_sample = {
            "subsample_size": len(found.numbers),
            "loo_subsample_observations": found.places,
            "elpd_loo_approx": None if found.kept is None else xarray.DataArray(found.kept[model], dims="row"),
        }
    return LooEstimate(
        kind="loo",
        elpd=found.estimate(c),
        se=found.error(c),
        p=found.estimate(found.contrast_of_parameters(model)),
        n_samples=len(fitted.picked),
        n_data_points=found.n_rows,
        scale="log",
        warning=bool((k > limit).any()),
        good_k=limit,
        elpd_i=xarray.DataArray(values, place, dims="row", name="elpd_i"),
        pareto_k=xarray.DataArray(diagnostic, place, dims="row", name="pareto_k"),
        subsampling_se=found.sampling_error(c),
        **of_sample,
        numbers=found.numbers,
        pointwise=found.exact[model],
        pointwise_k=k,
        own_family=fitted.about["family"].get("name") is None,
    )
