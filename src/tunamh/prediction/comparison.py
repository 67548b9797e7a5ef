"""`tunamh.compare`: several models on the same left-out rows, with the standard errors of their differences."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .._arguments import explained, shown, whole_number
from ..errors import NotApplicable
from ..marginal.evidence import Evidence, posterior_probabilities
from ..targets.families.base import Responses
from .fitted import Fitted, kept_responses
from .left_out import LeftOut, left_out, opened_to_leave_out
from .reliability import good_k
from .stacking import stacking_weights
from .verdict import WAY_OUT, Verdict

_NOISY = 0.5  # of a standard error: the share that comes from the subsample, above which more rows are worth their time


@explained
def compare(
    results: Any,
    data: Any,
    *,
    rows: int = 1000,
    draws: int | None = None,
    families: Mapping[str, Any] | None = None,
    rng: Any = None,
) -> Any:
    """Compare models by how well they predict rows that they were not fitted to.

    The same rows are left out one at a time for every model (`tunamh.loo`). The difference of two models is computed
    row by row, so its standard error is much smaller than the standard errors of the two models.

    Parameters
    ----------
    results : dict of DataTrees
        The results of `tunamh.sample` for two or more models; the key is a name that you choose: ``{"poisson": a,
        "binomial": b}``. All models must come from `tunamh.regression`, with these data and the same response.
    data : table
        The data of the fit: a data frame, or rows in files (`tunamh.open_rows`).
    rows, draws, rng
        The same arguments as for `tunamh.loo`.
    families : dict, optional
        Your own families (`tunamh.family`), because results do not contain code. The key is the name of a model in
        ``results``, the value is its family.

    Returns
    -------
    pandas.DataFrame
        One line for each model, the best model first. ``elpd`` is the expected log predictive density of all rows, and
        ``p`` is the effective number of parameters. ``elpd_diff`` is the ``elpd`` of the best model minus the ``elpd``
        of this model. ``se_diff`` is the standard error of this difference, and ``subsampling_se_diff`` is the part of
        this error that comes from the subsample. ``weight`` is the model's share in the mixture of the models that
        predicts best (stacking); it is missing if there are more than 10 million rows. ``se`` is the standard error of
        ``elpd``. ``large_k`` is the number of rows with an unreliable value. If all results contain their evidence
        (`tunamh.evidence`), there are three more columns: ``log_evidence``, ``log_evidence_se``, and ``probability``,
        the posterior probability of the model if all models have the same prior probability. The lines below the table
        (``attrs["notes"]``) give the answer in words.

    Raises
    ------
    NotApplicable
        For the same reasons as in `tunamh.loo`, or if the models have different responses or weights.

    Examples
    --------
    >>> tunamh.compare({"poisson": first, "negative binomial": second}, table, rng=1)
    """
    if not isinstance(results, dict) or len(results) < 2:
        raise TypeError(
            f"results must be a dict of two results or more, such as {{'a': a, 'b': b}}, got {shown(results)}."
        )
    given = dict(families or {})
    fits = {str(name): opened_to_leave_out(one, draws, given.pop(name, None)) for name, one in results.items()}
    if given:
        raise ValueError(
            f"families= names {next(iter(given))!r}, which is not one of the models: {', '.join(fits)} are."
        )
    refuse_different_responses(fits)
    refuse_different_values(results)
    found = left_out(fits, data, whole_number("rows", rows, 1), np.random.default_rng(rng))
    evidences = {str(name): Evidence.of_result(one) for name, one in results.items()}
    table = table_of(found, list(fits), [len(fitted.picked) for fitted in fits.values()], evidences)
    table.attrs["notes"] += of_densities(fits)
    return table


def refuse_different_responses(fits: Mapping[str, Fitted]) -> None:
    """Raise `NotApplicable` if the models have different responses, or the same response on different scales."""
    first, *others = fits
    for what, text in (("response", _response_of), ("weights", _weights_of), ("censoring", _censoring_of)):
        for name in others:
            here, there = text(fits[first]), text(fits[name])
            if here != there:
                raise NotApplicable(
                    f"the models {first!r} and {name!r} have different {what}, {here} and {there}, so their densities "
                    "cannot be compared: fit both to the same response. For log(y), use LogNormal() with y itself."
                )


def refuse_different_values(results: Mapping[str, Any]) -> None:
    """Raise `NotApplicable` if the responses that results contain are different.

    A result contains the responses of at most 10,000 rows. Results with the same number of rows contain the same rows.
    """
    kept = {name: kept_responses(one) for name, one in results.items()}
    first, *others = [name for name, one in kept.items() if one is not None] or [""]
    for name in others:
        here, there = kept[first], kept[name]
        assert here is not None and there is not None  # noqa: PT018
        if here.sizes == there.sizes and np.array_equal(here["row"], there["row"]) and not np.array_equal(here, there):
            row = int(here["row"].values[np.flatnonzero(here.values != there.values)[0]])
            raise NotApplicable(
                f"the models {first!r} and {name!r} were fitted to different responses: row {row} has "
                f"{here.sel(row=row).item():g} and {there.sel(row=row).item():g}. Fit both to the same data."
            )


def _response_of(fitted: Fitted) -> str:
    return "none" if fitted.formula is None else str(fitted.formula.response.node)


def _weights_of(fitted: Fitted) -> str:
    return "none" if fitted.formula is None else str(fitted.formula.beside.get("weights", "none"))


def _censoring_of(fitted: Fitted) -> str:
    beside = {} if fitted.formula is None else fitted.formula.beside
    found = [f"{name} {node}" for name, node in sorted(beside.items()) if name not in ("weights", "trials")]
    return ", ".join(found) or "none"


def of_densities(fits: Mapping[str, Fitted]) -> list[str]:
    """Return a note if some models have probabilities of counts and others have densities; otherwise an empty list."""
    kinds = {name: None if one.family is None else one.family.responses for name, one in fits.items()}
    counted = [name for name, kind in kinds.items() if kind is Responses.COUNTS]
    dense = [name for name, kind in kinds.items() if kind in (Responses.REALS, Responses.POSITIVE)]
    if not counted or not dense:
        return []
    return [
        f"{counted[0]} gives counts probabilities and {dense[0]} a density: they compare only roughly, and only as far "
        "as the density is nearly constant between whole numbers."
    ]


def table_of(found: LeftOut, names: list[str], draws: list[int], evidences: Mapping[str, Evidence | None]) -> Any:
    """Return the table of a comparison of models, with its notes."""
    from ..results.table import SummaryTable

    elpd = np.array([found.estimate(found.contrast(k)) for k in range(len(names))])
    order = np.argsort(-elpd, kind="stable")
    best = int(order[0])
    apart = [found.contrast(best, int(k)) for k in order]
    weights = stacking_weights(found)
    columns: dict[str, Any] = {
        "rank": np.arange(len(names)),
        "elpd": elpd[order],
        "p": [found.estimate(found.contrast_of_parameters(int(k))) for k in order],
        "elpd_diff": [found.estimate(c) for c in apart],
        "se_diff": [found.error(c) for c in apart],
        "subsampling_se_diff": [found.sampling_error(c) for c in apart],
        **({} if weights is None else {"weight": weights[order]}),
        "se": [found.error(found.contrast(int(k))) for k in order],
        "large_k": [int((found.pareto_k[k] > good_k(draws[k])).sum()) for k in order],
    }
    in_order = [names[k] for k in order]
    known = [one for one in (evidences[name] for name in in_order) if one is not None]
    if len(known) == len(names):
        columns["log_evidence"] = [one.log_evidence for one in known]
        columns["log_evidence_se"] = [one.se for one in known]
        columns["probability"] = posterior_probabilities(known)
    table = SummaryTable(columns, index=in_order)
    table.attrs["notes"] = notes(table, found, [Verdict.of(found, best, int(k), draws) for k in order[1:]])
    table.attrs["decimals"] = {name: [_DECIMALS.get(name, 1)] * len(names) for name in columns}
    return table


_DECIMALS = {"rank": 0, "weight": 2, "large_k": 0, "log_evidence": 2, "log_evidence_se": 3, "probability": 3}
_DECIMALS |= {"subsampling_se_diff": 2, "se_diff": 2, "elpd_diff": 2}


def notes(table: Any, found: LeftOut, verdicts: list[Verdict]) -> list[str]:
    """Return the sentences below the table: what the comparison says."""
    names = list(table.index)
    said = [verdict.words(names[0], name, table.loc[name]) for name, verdict in zip(names[1:], verdicts, strict=True)]
    if any(verdict.undecided for verdict in verdicts):
        said.append(WAY_OUT)
    m, n = len(found.numbers), found.n_rows
    if m < n:
        said.append(
            f"{m:,} of {n:,} rows were left out one at a time; these rows correct an approximation for all rows."
        )
    noisy = table["subsampling_se_diff"] > _NOISY * table["se_diff"]
    if m < n and (noisy & (table["se_diff"] > 0)).any():
        said.append(
            f"A large part of the standard error comes from the subsample: rows={10 * m} would make it smaller."
        )
    large = table["large_k"].to_numpy()
    if large.any():
        of = ", ".join(f"{count} of {name}" for name, count in zip(names, large, strict=True) if count)
        said.append(f"Some rows have a Pareto k that is too large ({of}): their values are unreliable.")
    if "probability" in table:
        said.append(_of_probabilities(table["probability"]))
    return said


def _of_probabilities(probability: Any) -> str:
    name = probability.idxmax()
    return (
        f"By the evidence, the model {name} has the posterior probability {probability[name]:.3g}, if all models "
        "have the same prior probability. The evidence depends on the priors; elpd hardly depends on them."
    )
