"""The front door: from draws to a file."""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from typing import Any

from .._arguments import explained, flag, shown
from ..checking import check
from .contents import contents_of
from .load import opened
from .page import GENERATOR, rendered


@explained
def report(
    posterior: Any,
    path: Any = "report.html",
    *,
    title: str | None = None,
    level: float = 0.95,
    overwrite: bool = False,
    data: Any = None,
    family: Any = None,
) -> Path:
    """Write a report of a run as one HTML page: the results, the checks and the cost.

    The page needs no network and is readable on a phone and on paper. It has a summary of every parameter, but no data
    and no draws. With ``data=`` it also says whether the model fits (`tunamh.check`), with residuals of some rows.

    Parameters
    ----------
    posterior : DataTree, str or path
        The result of `tunamh.sample`, a netCDF file with such a result, or the folder of a stored run. You can also
        pass a DataTree of another library; then the page lists what is missing.
    path : str or path
        The file to write; its name ends in ``.html``. An older report is replaced; any other file raises an error
        unless ``overwrite=True``.
    title : str, optional
        The question that the run answers, in your words.
    level : float
        The probability of the central posterior intervals.
    overwrite : bool
        Replace any existing file.
    data : table, optional
        The data of the fit, for the section "Does the model fit?". This works only for models of `tunamh.regression`.
    family : optional
        Your own family (`tunamh.family`) again, for this section.

    Returns
    -------
    pathlib.Path
        The file.

    Examples
    --------
    >>> tunamh.report(posterior, "flights.html", title="Which carriers are late?")
    """
    given: Any = level
    if isinstance(given, bool) or not isinstance(given, int | float) or not 0 < given < 1:
        raise ValueError(f"level must lie between 0 and 1, such as 0.95, got {shown(given)}.")
    if title is not None and not isinstance(title, str):
        raise TypeError(f"title must be text, got {shown(title)}.")
    place = Path(os.fspath(path))
    _refuse_other_formats(place)
    _refuse_other_files(place, flag("overwrite", overwrite))
    tree = opened(posterior)
    fit = None if data is None else check(tree, data, family=family)
    page = rendered(contents_of(tree, title=title, level=float(level), fit=fit))
    beside = place.with_name(f".{place.name}.{secrets.token_hex(4)}")
    try:
        beside.write_text(page, encoding="utf-8")
        os.replace(beside, place)  # whole, or not at all
    finally:
        beside.unlink(missing_ok=True)
    return place


def _refuse_other_formats(place: Path) -> None:
    if place.suffix.lower() not in ("", ".html", ".htm"):
        raise ValueError(
            f"a report is an HTML page, but {place.name} is the name of another kind of file: use "
            f"{place.with_suffix('.html').name}. A browser prints the page to PDF."
        )


def _refuse_other_files(place: Path, overwrite: bool) -> None:
    if place.is_dir():
        raise IsADirectoryError(f"{place} is a folder: name a file in it, such as {place / 'report.html'}.")
    if not place.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {place.parent} to write the report to: make it first.")
    if overwrite or not place.exists():
        return
    with place.open("rb") as file:
        ours = GENERATOR.encode() in file.read(2000)
    if not ours:
        raise FileExistsError(
            f"{place} exists and is not a report of tunamh: choose another file, or pass overwrite=True."
        )
