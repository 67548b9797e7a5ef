"""A stored run as a DataTree, from any process, also while it grows."""

from __future__ import annotations

from typing import Any

from ..errors import NoDraws
from ..results.tree import to_datatree
from .errors import StoreError
from .folder import Store, as_path


def read_store(store: Any) -> Any:
    """Return the draws of a stored run so far, in the same form as `tunamh.sample`.

    Any process can read a store while another process writes to it. Nothing in a store is executed or unpickled, and
    nothing is written.

    Parameters
    ----------
    store : str or path
        The folder of ``sample(..., store=)``.

    Returns
    -------
    xarray.DataTree
        Groups ``posterior`` and ``sample_stats``. All chains are cut to the length of the shortest chain. In the
        attribute ``settings``, ``stopped`` is ``"finished"`` if the run has made all draws, otherwise ``"unfinished"``.
        The attributes ``laplace_...`` and the group ``observed_data`` need the data, so only the results of
        `tunamh.sample` and `tunamh.resume` have them.

    Raises
    ------
    StoreError
        There is no stored run, or one of its files is damaged. The message says which file, and what to do.
    NoDraws
        A chain has no draw yet.

    Examples
    --------
    >>> tunamh.sample(target, draws=100_000, store="run")
    >>> tunamh.summary(tunamh.read_store("run"))  # also in another process, while the run goes on
    """
    run = Store.open(as_path(store))
    header = run.header
    results = []
    for chain in range(header.chains):
        walked, natural = run.result(chain)
        if len(natural) == 0:
            chunk = next(run.chunks(chain), None)
            steps = 0 if chunk is None else chunk.state.chain.steps
            raise NoDraws(
                f"chain {chain} of the run in {run.path} has no draw yet, after {steps:,} steps, of which "
                f"{header.tune:,} are warm-up: wait, or tunamh.resume it"
            )
        results.append(walked._replace(draws=natural))
    finished = all(len(result.draws) >= header.draws for result in results)
    settings = {**header.settings, "draws": header.draws, "stopped": "finished" if finished else "unfinished"}
    try:
        return to_datatree(
            results, header.layout, exact=header.exact, statistics=header.columns_of_record, settings=settings
        )
    except (ValueError, TypeError, LookupError) as error:
        told = f"the names in {run.path} make no table of its draws ({error}): its header is damaged or forged."
        raise StoreError(told, run.path) from error
