"""Stored runs: a folder with the draws of a run, from which `tunamh.resume` continues after a kill. ::

    run/
      header.json               the arguments of the run, and what must be the same when it continues (`header`)
      header.copy.json          a copy, in case the header is damaged
      chain-0-000000000000.npz  a chunk: draws of chain 0 from number 0 on, and its state after the last one (`chunks`)
      chain-0-000000007000.npz  the next chunk
      lock                      the process that writes holds this file

A chunk is a file with a fixed number of draws. Only the last chunk of a chain grows: about once a second, a longer
version replaces it. During warm-up it has the state of the chain and no draws. Every chunk has the state after its last
draw. So if a chunk is lost, the same draws can be made again, bit for bit, from the chunk before it.

No file is changed in place. A chunk is written under another name, synced to the disk and then renamed, and the file
system does this completely or not at all. (HDF5, the format of NetCDF files, changes a file in place. A kill during a
write can leave a file that no program can open.)
"""

from .errors import StoreError
from .folder import Store
from .header import Header
from .identity import first_steps, refuse_another
from .read import read_store

__all__ = ["Header", "Store", "StoreError", "first_steps", "read_store", "refuse_another"]
