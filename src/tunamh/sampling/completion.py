"""After the last draw: nothing may take the draws any more, and what fails becomes a warning."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from ..errors import ConvergenceWarning
from ..process.callers import users_line
from ..process.progress import Progress
from ..results.convergence import judge
from ..results.layout import Layout
from ..results.overdispersion import told_of_dispersion
from ..results.tree import ChainResult, closing_line, stacked, to_datatree, to_plain_dict
from ..targets.base import Target


def assemble_result(
    results: list[ChainResult],
    target: Target,
    layout: Layout,
    about: dict[str, Any],
    from_laplace: Callable[[], dict[str, Any]],
    seconds: float,
    progress: Progress,
) -> tuple[Any, list[Warning]]:
    """Return the draws as a DataTree, and warnings. What fails here becomes a warning, so that no draws are lost.

    ``results`` are in the coordinates of the chains. Their arrays are overwritten.
    """
    complaints: list[Warning] = []
    kept = min(len(result.draws) for result in results)
    laplace: dict[str, Any] = {}
    try:
        laplace = from_laplace()
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        complaints.append(UserWarning(f"the distance from Laplace's approximation could not be measured ({reason})"))
    results = [result._replace(draws=target.to_user_in_place(result.draws)) for result in results]
    draws = stacked([result.draws[:kept] for result in results])
    try:
        posterior = to_datatree(results, layout, draws=draws, laplace=laplace, **about)
    except Exception as error:
        posterior = to_plain_dict(results)
        reason = f"{type(error).__name__}: {error}"
        complaints.append(UserWarning(f"no DataTree could be made ({reason}): the draws are in a plain dictionary"))
    try:
        convergence = judge(draws)
        thin, statistics = about["settings"]["thin"], about["statistics"]
        progress.say(closing_line(results, convergence, layout.names, target.n_rows, statistics, thin, seconds))
        told = None
        if convergence is not None:
            worst = {layout.names[j] for j in convergence.worst}
            cause = "" if isinstance(posterior, dict) else _cause(posterior["posterior"], worst)
            told = convergence.complaint(layout.names, kept, cause)
        if told is not None:
            complaints.append(ConvergenceWarning(told))
    except Exception as error:
        complaints.append(UserWarning(f"convergence could not be computed ({type(error).__name__}: {error})"))
    return posterior, complaints


def _cause(posterior: Any, worst: set[str]) -> str:
    return told_of_dispersion(posterior, worst) if "model" in posterior.attrs else ""


def attempt(what: str, action: Callable[[], Any]) -> list[Warning]:
    """Do something that is not essential. Return a warning if it failed, otherwise an empty list."""
    try:
        action()
    except Exception as error:
        return [UserWarning(f"{what} ({type(error).__name__}: {error})")]
    return []


def warn(complaint: Warning, posterior: Any) -> None:
    """Warn the caller of `sample`. If a warnings filter makes the warning an error, this error contains the draws."""
    try:
        warnings.warn(complaint, stacklevel=users_line())
    except Warning as error:
        error.posterior = posterior  # type: ignore[attr-defined]
        error.add_note("The draws are in the attribute `posterior` of this error.")
        raise
