"""Results as netCDF files: written whole or not at all, and read from strangers without trust.

HDF5 writes as it goes, and one that meets a full disk cannot be closed any more: the process ends in a segmentation
fault. So the file is made in memory, and its bytes are written by Python. As a reader, HDF5 believes what a file says:
a few kilobytes may promise terabytes, be a group of itself, or lead to other files. What is in a file is looked at
first.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

_DEPTH = 20
_UNPACKED = 1100  # bytes that compression makes of one at the most
_SPARE = 1 << 26  # bytes, for dimensions and values that were never written


def as_bytes(tree: Any) -> memoryview:
    """Return a DataTree as the bytes of a netCDF file."""
    return tree.to_netcdf(engine="h5netcdf")


def read_saved(path: Path) -> Any:
    """Return the DataTree of a netCDF file, all of it in memory.

    Raise `ValueError` or `OSError` if it is no such file.
    """
    import xarray

    if not stat.S_ISREG(os.stat(path).st_mode):
        raise ValueError("it is not a regular file")
    _look_through(path)
    try:
        tree = xarray.load_datatree(path, engine="h5netcdf")
    except (OSError, ValueError):
        raise
    except Exception as error:  # whatever the libraries make of a forged or cut file
        raise ValueError(f"{type(error).__name__}: {error}") from error
    if "posterior" not in tree.children:
        raise ValueError("it has no group 'posterior', so that it holds no draws")
    sizes = tree["posterior"].sizes
    if min(sizes.get("chain", 0), sizes.get("draw", 0)) < 1:
        raise ValueError("its posterior has no dimensions 'chain' and 'draw', so that it holds no draws")
    return tree


def _look_through(path: Path) -> None:
    """Refuse what promises more than the file can hold, leads elsewhere, or has no end."""
    import h5py

    left = _UNPACKED * path.stat().st_size + _SPARE
    with h5py.File(path, "r") as file:
        known, ahead = set(), [(file["/"], 0)]
        while ahead:
            group, depth = ahead.pop()
            place = h5py.h5o.get_info(group.id).addr
            if place in known or depth > _DEPTH:
                raise ValueError("its groups are nested without end")
            known.add(place)
            for name in group:
                if not isinstance(group.get(name, getlink=True), h5py.HardLink):
                    raise ValueError(f"{name!r} in it is a link to another place")
                item = group[name]
                if isinstance(item, h5py.Group):
                    ahead.append((item, depth + 1))
                elif isinstance(item, h5py.Dataset):
                    left -= _bytes_of(item)
            if left < 0:
                raise ValueError("it claims more numbers than a file of this size can hold")


def _bytes_of(item: Any) -> int:
    if item.is_virtual or item.external is not None:
        raise ValueError(f"{item.name!r} in it is a link to another place")
    size = item.dtype.itemsize
    chunk = size
    for extent in item.chunks or ():
        chunk *= int(extent)
    return max(size * int(item.size or 0), chunk)
