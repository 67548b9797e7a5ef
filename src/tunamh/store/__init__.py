"""A run on disk: a folder of chunks, each of which is there whole or not at all.

Why a folder and not one NetCDF file: HDF5 changes a file in place, so a kill within a write can leave a file that
nothing opens any more. Here nothing is ever changed in place. A chunk is written under another name, synced to the disk
and then renamed, which the file system does at once or not at all; zarr would need the same around every one of its
files, and the state of the generators beside them. ::

    run/
      header.json               what the run was told, and what it must find again (`header`)
      header.copy.json          the same, should that one be damaged
      chain-0-000000000000.npz  draws of chain 0 from number 0 on, and its state after the last of them (`chunks`)
      chain-0-000000007000.npz  the next ones
      lock                      held by the process that writes

A chunk has a fixed number of draws. The last one of a chain grows: it is replaced by a longer version of itself about
once a second, in warm-up too, when it has a state and no draws yet. As every chunk has the state after its last draw,
one that is lost can be drawn again, bit for bit, from the one before it.
"""

from .errors import StoreError
from .folder import Store
from .header import Header
from .identity import first_steps, refuse_another
from .read import read_store

__all__ = ["Header", "Store", "StoreError", "first_steps", "read_store", "refuse_another"]
