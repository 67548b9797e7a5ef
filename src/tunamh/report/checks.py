"""Whether to trust a run: one verdict for each thing that can go wrong, and one for all."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..checking.check import FitCheck
from ..results.convergence import ESS_PER_CHAIN, r_hat_limit
from .metadata import Told, statistic
from .numbers import Variable

GOOD, LOOK, BAD, UNKNOWN, NOTE = "good", "look", "bad", "unknown", "note"

_HOPELESS_R_HAT, _HOPELESS_ESS = 1.05, 25


@dataclass(frozen=True)
class Check:
    """One check on the page: its state, its number, and what it means."""

    state: str
    name: str
    value: str
    text: str
    section: str = "trust"
    """Of the page, in which the details are."""


@dataclass(frozen=True)
class Worst:
    """The parameter with the worst R-hat and the parameter with the fewest effective draws, with these numbers."""

    r_hat: float
    r_hat_of: tuple[Variable, int]
    ess: float
    ess_of: tuple[Variable, int]

    @property
    def names(self) -> tuple[str, str]:
        return tuple(variable.names[j] for variable, j in (self.r_hat_of, self.ess_of))  # type: ignore[return-value]


def worst_of(variables: list[Variable]) -> Worst | None:
    """Return the worst parameters, or None if nothing could be diagnosed."""
    known = [v for v in variables if not np.isnan(v.r_hat).all()]
    if not known:
        return None
    by_r_hat = max(known, key=lambda v: float(np.nanmax(v.r_hat)))
    by_ess = min(known, key=lambda v: float(np.nanmin(v.ess)))
    j, k = int(np.nanargmax(by_r_hat.r_hat)), int(np.nanargmin(by_ess.ess))
    return Worst(float(by_r_hat.r_hat[j]), (by_r_hat, j), float(by_ess.ess[k]), (by_ess, k))


def checks_of(posterior: Any, stats: Any, variables: list[Variable], told: Told) -> list[Check]:
    chains, draws = int(posterior.sizes.get("chain", 1)), int(posterior.sizes.get("draw", 1))
    found = [
        *_broken(variables),
        _exactness(told),
        *_convergence(worst_of(variables), chains, draws, sum(one.size for one in variables)),
        *_stuck(posterior),
    ]
    found += [_laplace(told), *_sampler(stats), *_stopped(told)]
    return found


def verdict(checks: list[Check], fit: FitCheck | None = None) -> Check:
    """Return the sentence at the top of the page.

    It is about the run and, if the data were passed, about the fit of the model.
    """
    of_run = _of_run(checks)
    if fit is None:
        return of_run
    if fit.ok or of_run.state in (BAD, LOOK):
        return replace(of_run, text=f"{of_run.text} Does the model fit? {fit.verdict}")
    name = "The draws can be used, but look at the fit of the model"
    return Check(LOOK, name, "", f"{of_run.text} {fit.verdict}", "fit")


def _of_run(checks: list[Check]) -> Check:
    bad = [check.name for check in checks if check.state == BAD]
    look = [check.name for check in checks if check.state == LOOK]
    if bad:
        return Check(BAD, "Do not use these draws yet", "", f"{_listed(bad)}: see below what to do.")
    if look:
        return Check(LOOK, "Look closer before you use these draws", "", f"{_listed(look)}: see below.")
    if any(check.state == UNKNOWN for check in checks):
        missing = _listed([check.name for check in checks if check.state == UNKNOWN])
        return Check(
            UNKNOWN, "No check found a problem, but some checks are not possible", "", f"Not known: {missing}."
        )
    return Check(GOOD, "No check found a problem with these draws", "", "Every check of the run is passed.")


def _exactness(told: Told) -> Check:
    if told.exact is None:
        return Check(UNKNOWN, "Exactness", "not told", "The file does not say whether the sampler is exact.")
    if told.exact:
        text = "The draws come from the exact posterior. Minibatches do not change it."
        return Check(GOOD, "Exactness", "exact", text)
    text = (
        "The sampler's test is inexact: the draws come from an approximation of the posterior, and its error "
        "is unknown."
    )
    return Check(LOOK, "Exactness", "inexact", text)


def _convergence(worst: Worst | None, chains: int, draws: int, parameters: int) -> list[Check]:
    if worst is None:
        text = f"{draws:,} draws per chain are too few for this check, or some are not finite."
        return [Check(UNKNOWN, "R-hat", "not known", text), Check(UNKNOWN, "Effective draws", "not known", text)]
    of_r_hat, of_ess = worst.names
    limit = r_hat_limit(draws, chains, parameters)
    state = GOOD if worst.r_hat <= limit else LOOK if worst.r_hat <= _HOPELESS_R_HAT else BAD
    shown = f"{worst.r_hat:.3f}" if worst.r_hat < 10 else f"{worst.r_hat:.3g}"
    text = (
        f"The largest R-hat of all parameters is that of {of_r_hat}. If it is at most {limit:.3g}, the chains agree."
        + ("" if state == GOOD else " Run longer: more draws=, tune= or thin=.")
    )
    r_hat = Check(state, "R-hat", shown, text)
    wanted = ESS_PER_CHAIN * chains
    state = GOOD if worst.ess >= wanted else LOOK if worst.ess >= _HOPELESS_ESS * chains else BAD
    text = (
        f"The smallest number of all parameters is that of {of_ess}. The run has {chains * draws:,} draws. At least "
        f"{wanted:,} effective draws are needed, {ESS_PER_CHAIN} per chain."
        + ("" if state == GOOD else " Run longer: more draws= or thin=.")
    )
    return [r_hat, Check(state, "Effective draws", f"{worst.ess:,.0f}", text)]


def _broken(variables: list[Variable]) -> list[Check]:
    named = [variable.names[j] for variable in variables for j in np.flatnonzero(~np.isfinite(variable.mean))[:3]]
    if not named:
        return []
    text = f"NaN or infinite draws, of {_listed(named[:3])}{' and others' * (len(named) > 3)}."
    return [Check(BAD, "Draws that are not finite", str(len(named)), text)]


def _stuck(posterior: Any) -> list[Check]:
    for values in posterior.data_vars.values():
        if {"chain", "draw"} <= set(values.dims) and values.sizes["draw"] > 1:
            draws = values.transpose("chain", "draw", ...).values
            still = np.flatnonzero((draws == draws[:, :1]).reshape(len(draws), -1).all(axis=1))
            if still.size:
                which = ", ".join(map(str, still))
                text = "All draws are the same, because no proposal was accepted: they say nothing about the posterior."
                return [Check(BAD, "Chains that never moved", which, text)]
            return []
    return []


def _laplace(told: Told) -> Check:
    name = "Distance from Laplace's approximation"
    if told.laplace is None:
        text = (
            "It is measured if proposals come from Laplace's approximation of all parameters. It needs the data: "
            "tunamh.sample and tunamh.resume measure it, but a stored run that is read from disk does not have it."
        )
        return Check(NOTE, name, "not measured", text)
    bound = told.laplace.total_variation
    value = "measured" if bound is None else f"at most {max(0.01, math.ceil(100 * bound - 1e-9) / 100):.2f}"
    return Check(NOTE, name, value, told.laplace.beside_draws)  # it speaks of the approximation, not of the run


def _sampler(stats: Any) -> list[Check]:
    found = []
    rates, ratios = statistic(stats, "acceptance_rate"), statistic(stats, "bound_ratio")
    if rates is not None:
        rate, by_chain = float(rates.mean()), rates.mean(axis=1)
        state = BAD if rate < 0.001 else LOOK if rate < 0.05 else GOOD
        text = f"The mean probability to accept a move; in single chains {min(by_chain):.2f} to {max(by_chain):.2f}."
        found.append(Check(state, "Acceptance", f"{rate:.2f}", text))
    else:
        found.append(Check(UNKNOWN, "Acceptance", "not told", "There are no statistics of the sampler in the file."))
    if ratios is not None:
        if np.isnan(ratios).all():
            text = "No bound was needed, because every step read all rows."
            return [*found, Check(GOOD, "Bounds of the rows", "not needed", text)]
        worst = float(np.nanmax(ratios))
        text = (
            "tunamh knows a bound for the change of each row's log-likelihood in a step. This number is the largest "
            "change of a row that was read, divided by its bound. Exact draws need at most 1; a larger number would "
            "have ended the run with an error."
        )
        found.append(Check(GOOD if worst <= 1 else BAD, "Bounds of the rows", f"{worst:.3f}", text))
    return found


def _stopped(told: Told) -> list[Check]:
    reason = str(told.settings.get("stopped"))
    texts = {
        "interrupted": "The run was interrupted before it had made all draws.",
        "max_seconds": "The time limit ended the run before it had made all draws.",
        "unfinished": "The stored run does not have all its draws yet: tunamh.resume continues it.",
    }
    if reason in texts:
        return [Check(LOOK, "Not finished", reason.replace("_", " "), texts[reason])]
    return []


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
