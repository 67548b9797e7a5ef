"""What the page says, as plain values in the order in which a person reads them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from markupsafe import Markup

from ..checking.check import FitCheck
from ..laplace.distance import WIDEST
from ..results.layout import (
    COEFFICIENT,
    CORRELATION,
    CURVE,
    EFFECT,
    GROUP_SCALE,
    PREDICTOR,
    REFERENCE,
    SMOOTH_SCALE,
)
from ..targets.families.registry import family_in_words
from .checks import Check, checks_of, verdict, worst_of
from .costs import Cost, cost_of, count
from .curves import CurvePicture, curve_pictures
from .fit import Fit, fit_of
from .group_effects import Effects, effects_of
from .metadata import Told, told_by
from .numbers import Variable, joined, variables_of
from .pictures import InOrder, Interval, Panel, finite, in_order, panels, paths, strip
from .response_effects import ResponseEffects, response_effects
from .tables import Table, table_of

_MOST_IN_A_PICTURE = 60
_CHOSEN = 40  # of more

_HEADINGS = {
    COEFFICIENT: "Coefficients",
    GROUP_SCALE: "Standard deviations of group effects",
    CORRELATION: "Correlations of group effects",
    SMOOTH_SCALE: "Sizes of curves",
}


@dataclass(frozen=True)
class Picture:
    """A picture of intervals of one variable."""

    size: int
    heading: str
    note: str
    panels: list[Panel]
    whole: InOrder | None = None  # all of them, where only some have a row


@dataclass(frozen=True)
class Trace:
    name: str
    why: str
    svg: Markup


@dataclass(frozen=True)
class Contents:
    title: str
    model: str
    made: str
    answer: list[str]
    level: str
    pictures: list[Picture]
    curves: list[CurvePicture]
    table: Table
    response: ResponseEffects | None
    effects: Effects | None
    verdict: Check
    checks: list[Check]
    traces: list[Trace]
    laplace: tuple[Markup, list[tuple[float, str]]] | None
    cost: Cost
    why: str
    chosen: list[tuple[str, str]]
    fit: Fit | None = None
    missing: list[str] = field(default_factory=list)


def contents_of(tree: Any, *, title: str | None, level: float, fit: FitCheck | None = None) -> Contents:
    posterior = tree["posterior"]
    stats = tree["sample_stats"] if "sample_stats" in tree.children else None
    told = told_by(posterior)
    variables, others = variables_of(posterior, level)
    if not variables:
        raise ValueError("the group 'posterior' has no variable with dimensions chain and draw: there are no draws.")
    main = [variable for variable in variables if variable.role != EFFECT] or variables
    worst = worst_of(variables)
    checks = checks_of(posterior, stats, variables, told)
    cost = cost_of(stats, told, None if worst is None else worst.ess)
    missing = [f"{name} (no draws of numbers)" for name in others]
    missing += [f"attribute {name} (cannot be read)" for name in told.unreadable]
    missing += [*cost.missing, *([] if told.settings else ["what was chosen and why"])]
    return Contents(
        title=title or _question(told, variables),
        model=_model(told, titled=title is not None),
        made=_made(told),
        answer=_answer(_plain(main), level),
        level=f"{100 * level:g} %",
        pictures=[_picture(heading, own, told) for heading, own in _sections(_plain(main))],
        curves=curve_pictures(tree, level),
        table=table_of(main, told, level),
        response=response_effects(tree, level),
        effects=effects_of(tree, variables, level),
        verdict=verdict(checks, fit),
        checks=checks,
        traces=_traces(posterior, variables),
        laplace=None if told.laplace is None else strip(told.laplace.shift, WIDEST),
        cost=cost,
        why=str(told.settings.get("why", "")) or (told.text("choice") or ""),
        chosen=_chosen(told, posterior),
        fit=None if fit is None else fit_of(fit),
        missing=missing,
    )


def _question(told: Told, variables: list[Variable]) -> str:
    if told.formula is not None:
        return told.formula
    rows = told.number("data_rows") or told.number("rows")
    coefficients = _main_coefficients(variables)
    about = f"{count(sum(v.size for v in variables))} parameters" if not coefficients else _many(coefficients)
    return f"What do {rows:,.0f} rows say about {about}?" if rows else f"A posterior of {about}"


def _main_coefficients(variables: list[Variable]) -> int:
    return sum(v.size for v in variables if v.role == COEFFICIENT and PREDICTOR not in v.about)


def _many(n: int) -> str:
    return "one coefficient" if n == 1 else f"{n:,} coefficients"


def _model(told: Told, titled: bool) -> str:
    """Family, rows and response of a regression, its formula where the title is another; else what the target says."""
    family = told.model.get("family")
    if not isinstance(family, dict) or not isinstance(family.get("text"), str):
        return str(told.settings.get("target", ""))[:2000]
    known = ", ".join(part for part in (family_in_words(family)[:500], _rows(told)) if part)
    return "; ".join(part for part in (told.formula if titled else None, known, told.success) if part)


def _rows(told: Told) -> str:
    """The rows that the user gave; equal ones may have been taken once."""
    used = told.number("rows")
    given = told.number("data_rows") or used
    if not given:
        return ""
    different = f" ({used:,.0f} different ones)" if used and used < given else ""
    dropped = f" ({told.dropped:,} with missing values left out)" if told.dropped else ""
    return f"{given:,.0f} rows{different}{dropped}"


def _made(told: Told) -> str:
    library, version = told.text("inference_library"), told.text("inference_library_version")
    date = (told.text("created_at") or "")[:16].replace("T", " ")
    by = " ".join(part for part in (library, version) if part)
    return ", ".join(part[:60] for part in (by, f"{date} UTC" if date else "") if part)


def _answer(variables: list[Variable], level: float) -> list[str]:
    own = [v for v in variables if v.role == COEFFICIENT and PREDICTOR not in v.about]
    theta = joined(own or variables[:1])
    clear = int(((theta.ends[:, 0] > 0) | (theta.ends[:, 1] < 0)).sum())
    what = "coefficients" if own else "parameters"
    share = f"{100 * level:g} %"
    if theta.size == 1:
        side = "does not contain zero" if clear else "contains zero"
        return [f"The interval that contains {share} of the posterior {side}."]
    every = "Both" if theta.size == 2 else f"All {theta.size:,}"
    which = every if clear == theta.size else f"{clear:,} of {theta.size:,}"
    verb = "is" if clear == 1 else "are"
    if clear:
        return [f"{which} {what} {verb} clearly different from zero: the {share} interval does not contain zero."]
    return [f"None of {theta.size:,} {what} is clearly different from zero: every {share} interval contains zero."]


def _plain(variables: list[Variable]) -> list[Variable]:
    """Without the coefficients of curves, of which the curves themselves are shown; all, where there are no others."""
    return [one for one in variables if CURVE not in one.about] or variables


def _sections(variables: list[Variable]) -> list[tuple[str, list[Variable]]]:
    """What has a picture together: coefficients of one predictor, scales and correlations of groups."""
    found: dict[str, list[Variable]] = {}
    for variable in variables:
        heading = _HEADINGS.get(variable.role, variable.name)
        of = variable.about.get(PREDICTOR)
        found.setdefault(heading if of is None else f"{heading} of {of}", []).append(variable)
    return list(found.items())


def rows_of(variable: Variable, which: Any, factors: list[str]) -> list[Interval]:
    return [
        Interval(
            _label(variable, j),
            float(variable.mean[j]),
            (float(variable.half[j, 0]), float(variable.half[j, 1])),
            (float(variable.ends[j, 0]), float(variable.ends[j, 1])),
            factors[j],
        )
        for j in which
    ]


def _label(variable: Variable, j: int) -> str:
    """A coefficient of a table's column by the column's name, others as a summary has them."""
    label = variable.labels[j]
    plain = variable.name in ("theta", "group_scale", "group_correlation") and label and not label.isdigit()
    return label if plain or not variable.name else variable.names[j]


def _factors(variables: list[Variable], told: Told) -> list[str]:
    """For every parameter the factor of which it is a level, "" where there is none."""
    of_table = {f"{name}[{level}]": name for name, levels in told.factors.items() for level in levels}
    found: list[str] = []
    for variable in variables:
        if variable.name == "theta":
            found += [of_table.get(label, "") for label in variable.labels]
        else:
            found += [variable.name if variable.size > 1 else ""] * variable.size
    return found


def _references(variables: list[Variable], told: Told) -> str:
    """The levels without a coefficient, with which others are compared."""
    named = {variable.name: variable.about[REFERENCE] for variable in variables if REFERENCE in variable.about}
    if any(variable.name == "theta" for variable in variables):
        named |= {name: levels[0] for name, levels in told.factors.items() if levels}
    if not named:
        return ""
    shown = ", ".join(f"{name}: {level}" for name, level in list(named.items())[:20])
    return f"Each level is compared with the reference level, which has no coefficient ({shown})."


def _picture(heading: str, variables: list[Variable], told: Told) -> Picture:
    variable, factors, note = joined(variables), _factors(variables, told), _references(variables, told)
    signed = bool((variable.ends[:, 0] < 0).any())
    if variable.size <= _MOST_IN_A_PICTURE:
        rows = rows_of(variable, range(variable.size), factors)
        return Picture(variable.size, heading, note, panels(rows, zero=signed))
    with np.errstate(divide="ignore", invalid="ignore"):
        z = finite(variable.mean / variable.sd)
    some = np.sort(np.argsort(-np.abs(z), kind="stable")[:_CHOSEN])
    chosen = (
        f"The {_CHOSEN} of {variable.size:,} that are farthest from zero, in their posterior standard deviations; "
        "the table has all of them."
    )
    scaled = variable.ends / np.where(variable.sd > 0, variable.sd, 1.0)[:, None]
    shown = panels(rows_of(variable, some, factors), zero=signed)
    return Picture(variable.size, heading, " ".join(filter(None, (chosen, note))), shown, in_order(z, scaled))


def _traces(posterior: Any, variables: list[Variable]) -> list[Trace]:
    """Paths of the two parameters that are worst by R-hat and by effective draws."""
    worst = worst_of(variables)
    if worst is None:
        return []
    found: dict[str, Trace] = {}
    for (variable, j), why in ((worst.r_hat_of, "largest R-hat"), (worst.ess_of, "fewest effective draws")):
        values = posterior[variable.name].transpose("chain", "draw", ...).values
        draws = values.reshape(*values.shape[:2], -1)[:, :, j].astype(np.float64)
        name = variable.names[j]
        why = f"{found[name].why} and {why}" if name in found else why
        found[name] = Trace(name, why, paths(draws))
    return list(found.values())


_SHOWN = {
    "test": "acceptance test",
    "proposal": "proposal",
    "kernel": "kernel",
    "draws": "draws per chain",
    "tune": "warm-up steps",
    "thin": "steps per draw",
    "until": "stopping rule",
    "stopped": "how it ended",
    "rows": "rows in the sampler",
    "seed": "seed",
    "data": "fingerprint of the data",
}


def _chosen(told: Told, posterior: Any) -> list[tuple[str, str]]:
    found = [(label, _value(told.settings[key])) for key, label in _SHOWN.items() if key in told.settings]
    return [("chains", str(int(posterior.sizes.get("chain", 1)))), *found]


def _value(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)[:500]
