"""The front door: the standard checks on a subsample, in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from typing import Any

import numpy as np

from .._arguments import explained, shown, whole_number
from ..errors import NotApplicable
from ..formula.syntax import columns_in
from ..formula.variables import read
from ..prediction.fitted import Fitted
from .checks import all_checks
from .finding import UNJUDGED, WRONG, Finding, judged
from .looked import Looked
from .residuals import Residuals, residuals_of
from .some_rows import drawn_rows

DRAWS = 100


@dataclass(frozen=True, eq=False)
class FitCheck:
    """The result of `tunamh.check`. Print it to read what looks wrong and what to try.

    `tunamh.plot_check` draws pictures of the checks. If the data have values that look like codes for missing values,
    such as 99, the printed text lists them.

    Attributes
    ----------
    ok : bool
        True if nothing looks wrong.
    verdict : str
        One sentence that says how many checks look wrong.
    table : pandas.DataFrame
        One line for each check.
    rows : pandas.DataFrame
        One line for each row that was checked, with its residual.
    findings, wrong : list
        The results of all checks, and the results that look wrong. Each has a ``name``, a ``text`` and an ``advice``.
    """

    findings: list[Finding]
    rows_told: str
    draws: int
    residuals: Residuals = field(repr=False)
    looked: Looked = field(repr=False)

    @property
    def wrong(self) -> list[Finding]:
        """Return a list of the results that look wrong. The one with the strongest evidence is first."""
        return sorted((one for one in self.findings if one.state == WRONG), key=lambda one: one.p or 0.0)

    @property
    def ok(self) -> bool:
        """Return True if nothing looks wrong."""
        return not self.wrong

    @property
    def verdict(self) -> str:
        """Return one sentence that says how many checks look wrong."""
        count = sum(one.state != UNJUDGED for one in self.findings)
        if not count:
            return "No check could be made."
        if self.ok:
            return f"Nothing looks wrong: {count} check{'s' * (count > 1)} passed."
        wrong = len(self.wrong)
        return f"{wrong} of {count} checks look{'s' * (wrong == 1)} wrong."

    def __str__(self) -> str:
        lines = [f"Does the model fit? {self.rows_told}, {self.draws} posterior draws.", self.verdict]
        for one in self.wrong:
            lines += [f"- {one.text} (z = {one.z:.1f})", f"  {one.advice}"]
        others = [one for one in self.findings if one.state == UNJUDGED]
        lines += [f"- {one.what}. {one.text}" for one in others]
        lines += [f"- {name}: {told}." for name, told in self.looked.codes.items()]
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """For notebooks."""
        first, verdict, *lines = str(self).splitlines()
        items = "".join(f"<li>{escape(line.removeprefix('- '))}</li>" for line in lines)
        return f"<p>{escape(first)}</p><p><b>{escape(verdict)}</b></p><ul>{items}</ul>"

    @cached_property
    def table(self) -> Any:
        """Return a pandas table with one line for each check.

        The columns are

        - ``check``: the name of the check;
        - ``about``: the column or factor that was checked;
        - ``state``: ``"fine"``, ``"wrong"`` or ``"not judged"``;
        - ``z``: the same evidence as ``p``, as a number of standard deviations of a normal distribution;
        - ``p``: the p-value: the probability of a deviation at least as large if the model is correct;
        - ``size``: a text that says how large the deviation is.
        """
        import pandas as pd

        from ..results.table import GroupTable

        table = GroupTable(
            pd.DataFrame(
                {
                    "check": [one.name for one in self.findings],
                    "about": [one.about for one in self.findings],
                    "state": [one.state for one in self.findings],
                    "z": [np.nan if one.z is None else one.z for one in self.findings],
                    "p": [np.nan if one.p is None else one.p for one in self.findings],
                    "size": [one.size for one in self.findings],
                }
            )
        )
        table.attrs["notes"] = [self.verdict]
        table.attrs["decimals"] = {"z": 1, "p": 4}
        return table

    @cached_property
    def rows(self) -> Any:
        """Return a pandas table with one line for each row in the subsample that was checked.

        The columns are

        - ``row``: the number of the row in the data;
        - ``observed``: the response; for classes, the name of the class;
        - ``predicted``: the posterior mean of the response; for labels, the probability of 1; for classes, the
          probability of the observed class;
        - ``residual``: the quantile residual; for labels and classes, the observed value (1 for the observed class)
          minus its probability.
        """
        import pandas as pd

        found = self.residuals
        classes, observed, mean = self.looked.classes, found.observed, found.mean
        if classes:
            codes = observed.astype(np.int64)
            mean, observed = mean[codes, np.arange(found.n)], np.asarray(classes)[codes]
        columns = {"row": found.rows.numbers, "observed": observed, "predicted": mean, "residual": found.residual}
        return pd.DataFrame(columns)


@explained
def check(
    posterior: Any,
    data: Any,
    *,
    columns: Sequence[str] = (),
    rows: int = 1000,
    draws: int = DRAWS,
    family: Any = None,
    rng: Any = 0,
) -> FitCheck:
    """Check whether a model fits its data, on a random subsample of the rows.

    The checks depend on the family. For labels and classes, the function compares predicted probabilities with observed
    shares. For all other responses (also censored responses), it checks the spread, the skewness and the tails of
    quantile residuals, and for counts the number of zeros. For all families, it looks for trends of the residuals along
    the linear predictor and along columns, compares the means of levels and groups, and checks the distribution of
    group effects. If the model is correct, the checks report a problem in at most about one of 100 data sets.

    Parameters
    ----------
    posterior : DataTree
        The result of a target made by `tunamh.regression`.
    data : table
        The data of the fit, because a result does not contain them. A table, or tables in blocks (`tunamh.open_rows`).
        It must have the rows of the fit. With new rows of the same groups the checks would report false problems,
        because the group effects were estimated from the responses of the fit.
    columns : sequence of str, optional
        Further columns of the data that are not in the formula. The residuals are checked along these columns, too.
    rows : int
        Size of the random subsample. More rows find smaller deviations.
    draws : int
        Number of posterior draws to use, evenly spaced.
    family : optional
        Your own family (`tunamh.family`) again, because a result does not contain code. With ``draw=`` everything is
        checked; with only ``mean=``, trends and means of levels are checked.
    rng : seed
        The seed of the subsample and of the other random numbers. Default: 0, so that a second call gives the same
        result.

    Returns
    -------
    FitCheck
        Print it to read the result. In a program, use ``check.ok``, ``check.table`` and ``check.rows``.
        `tunamh.plot_check` draws pictures of the checks.

    Raises
    ------
    NotApplicable
        If the model was not made from a formula, if weights, trials or censoring were passed as arrays, or if your own
        family has neither ``mean=`` nor ``draw=``. The message says what to do.

    Examples
    --------
    >>> found = tunamh.check(posterior, flights)
    >>> print(found)
    >>> tunamh.plot_check(found)
    """
    rows, draws = whole_number("rows", rows, 1), whole_number("draws", draws, 1)
    if isinstance(columns, str) or not all(isinstance(one, str) for one in columns):
        raise TypeError(f"columns must be a list of names of columns, got {shown(columns)}.")
    fitted = opened(posterior, draws, family)
    assert fitted.formula is not None
    generator = np.random.default_rng(rng)
    some = drawn_rows(fitted.formula, data, rows, generator, more=list(columns), weighted=True)
    found = residuals_of(fitted, some, generator)
    names = _columns(fitted, list(columns))
    known = frozenset(fitted.formula.predictor_columns)
    looked = Looked(fitted, found, read(some.table, names), known, _classes(fitted), some.every)
    return FitCheck(judged(list(all_checks(looked))), some.told, len(fitted.picked), found, looked)


def opened(posterior: Any, draws: int | None, family: Any) -> Fitted:
    """Return the result opened for checks. Raise `NotApplicable` if it does not come from a formula."""
    fitted = Fitted.open(posterior, draws, family)
    if fitted.formula is None:
        raise NotApplicable("tunamh.check needs the result of a model that tunamh.regression made from a formula.")
    return fitted


def _columns(fitted: Fitted, more: list[str]) -> list[str]:
    """Columns of predictors, without those that name groups, and further ones."""
    formula = fitted.formula
    assert formula is not None
    groups = {name for one in formula.groups for atom in one.by for name in columns_in(atom)}
    return list(dict.fromkeys([*(name for name in formula.predictor_columns if name not in groups), *more]))


def _classes(fitted: Fitted) -> list[str]:
    if fitted.family is None or not fitted.family.of_classes:
        return []
    return [str(name) for name in fitted.classes] if fitted.classes is not None else []
