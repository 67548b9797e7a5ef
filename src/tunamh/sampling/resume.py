"""Go on with a stored run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._arguments import flag, positive_number, whole_number
from ..acceptance.base import AcceptanceTest
from ..chains.kernel import Kernel
from ..results.until import Until, checked_rule
from ..store import Store, StoreError
from ..store.folder import as_path
from ..targets.base import Target
from .destination import ExistingStore, Task
from .session import Choices, carry_out


def resume(
    store: Any,
    target: Target,
    *,
    test: AcceptanceTest | None = None,
    proposal: Any = None,
    control: Callable[[Target], Target] | None = None,
    kernel: Kernel | None = None,
    draws: int | None = None,
    until: Until | None = None,
    cores: int | None = None,
    max_seconds: float | None = None,
    progressbar: bool = True,
) -> Any:
    """Go on with a run that ``sample(..., store=)`` began, however it ended: a kill, Ctrl-C, ``max_seconds``, an error.

    The draws are, bit for bit, those of a run that was never interrupted. A store holds no data and no code, so the
    target is made again, as it was for `sample`, and what you said there of ``test``, ``proposal``, ``control`` and
    ``kernel`` is said again. Set-up is then made anew. Seed, tune, thin, chains and initial states are the store's.

    Parameters
    ----------
    store : str or path
        The folder of the run.
    target, test, proposal, control, kernel
        As they were given to `sample`. Others are refused with the reason: another target or other choices by their
        descriptions, other data by their fingerprint, and what neither shows (a changed function, another processor or
        version that rounds otherwise) by the first steps of the run, which are made again.
    draws : int, optional
        More draws per chain than before: extends the run, also a finished one. ``draws`` alone lifts its ``until``.
    until : Until, optional
        Another rule for stopping; by default the one that `sample` was given.
    cores, max_seconds, progressbar
        As `sample` takes them; the time begins anew.

    Returns
    -------
    xarray.DataTree
        All draws, those of before and the new ones, as `sample` returns them.

    Raises
    ------
    StoreError
        There is no stored run, it is another one, another process writes to it, a file of it is damaged, or it could
        not be written to. The text says which file, and what to do.

    Examples
    --------
    >>> target = tunamh.LogisticRegression(X, y)
    >>> posterior = tunamh.resume("run", target) if os.path.exists("run") else tunamh.sample(target, store="run")
    """
    choices = Choices(target, test, proposal, control, kernel).checked()
    cores = None if cores is None else whole_number("cores", cores, 1)
    max_seconds = None if max_seconds is None else positive_number("max_seconds", max_seconds, infinite=True)
    progressbar = flag("progressbar", progressbar)
    found = Store.open(as_path(store))
    header = found.header
    wanted = header.draws if draws is None else whole_number("draws", draws, 1)
    if wanted < header.draws:
        raise ValueError(f"draws may only grow: the run in {found.path} is one of {header.draws}, got {wanted}.")
    rule = header.rule if until is None and draws is None else checked_rule(until)
    points = [None if point is None else np.array(point, dtype=np.float64) for point in header.points]
    if any(point is not None and point.shape != (target.dim,) for point in points):
        raise StoreError(f"the run in {found.path} begins at points of another number of parameters.", found.path)
    task = Task(wanted, header.tune, header.chains, header.thin, header.seeds, points, rule)
    return carry_out(choices, task, ExistingStore(found), cores, max_seconds, progressbar)
