"""What a report is of: a DataTree, a netCDF file or a stored run. Nothing in a file is executed or unpickled."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from .._arguments import shown
from ..results.netcdf import read_saved
from ..store import read_store


def opened(source: Any) -> Any:
    """Return a DataTree with a group ``posterior``, from a DataTree, a file or a stored run."""
    import xarray

    if isinstance(source, str | os.PathLike):
        return _from_disk(Path(os.fspath(source)))
    if isinstance(source, dict) and "posterior" in source:
        raise TypeError("the draws are in a plain dictionary: make a DataTree of them by arviz_base.from_dict.")
    if not isinstance(source, xarray.DataTree) or "posterior" not in source.children:
        raise TypeError(
            "posterior must be what tunamh.sample returned, a netCDF file or the folder of a stored run, got "
            f"{shown(source)}."
        )
    return source


def _from_disk(path: Path) -> Any:
    if path.is_dir():
        return read_store(path)
    if not path.exists():
        raise FileNotFoundError(f"there is no file or folder {path}.")
    try:
        return read_saved(path)
    except (OSError, ValueError) as error:
        raise ValueError(
            f"{path} could not be read as a netCDF file of a run ({error}): save a result with "
            "posterior.to_netcdf(...)."
        ) from error
