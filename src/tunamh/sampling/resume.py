"""Go on with a stored run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._arguments import explained, flag, positive_number, whole_number
from ..acceptance.base import AcceptanceTest
from ..chains.kernel import Kernel
from ..results.until import Until, checked_rule
from ..store import Store, StoreError
from ..store.folder import as_path
from ..targets.base import Target
from .destination import ExistingStore, RunPlan
from .session import Choices, run_session


@explained
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
    """Continue a run of ``sample(..., store=)`` after a kill, Ctrl-C, ``max_seconds`` or an error, or extend it.

    The draws are the same, bit for bit, as without the interruption. A store contains no data and no code. So make the
    same target as for `sample`, and pass the same ``test``, ``proposal``, ``control`` and ``kernel``. `resume` repeats
    the set-up. It takes the seed, ``tune``, ``thin``, the number of chains and the initial states from the store.

    Parameters
    ----------
    store : str or path
        The folder of the run.
    target, test, proposal, control, kernel
        The same as for `sample`; anything else raises an error that gives the reason. Targets, tests and proposals are
        compared by their descriptions, and data by their fingerprint. To find other differences (a changed function,
        another processor), `resume` repeats the first steps of the run.
    draws : int, optional
        A larger number of draws per chain: this extends the run, even if it has finished. Without ``until`` it removes
        the old rule for stopping.
    until : Until, optional
        Another rule for stopping. Default: the rule of `sample`.
    cores, max_seconds, progressbar
        The same arguments as for `sample`. The time of ``max_seconds`` starts again.

    Returns
    -------
    xarray.DataTree
        All draws, old and new, in the same form as `sample`.

    Raises
    ------
    StoreError
        There is no stored run, it is a different run, another process writes to it, one of its files is damaged, or it
        cannot be written. The message says which file, and what to do.

    Examples
    --------
    >>> target = tunamh.LogisticRegression(X, y)
    >>> posterior = tunamh.resume("run", target) if os.path.exists("run") else tunamh.sample(target, store="run")
    """
    if isinstance(store, Target):
        raise TypeError("the arguments of resume are the store and then the target: tunamh.resume('run', target).")
    choices = Choices(target, test, proposal, control, kernel).checked()
    cores = None if cores is None else whole_number("cores", cores, 1)
    max_seconds = None if max_seconds is None else positive_number("max_seconds", max_seconds, infinite=True)
    progressbar = flag("progressbar", progressbar)
    found = Store.open(as_path(store))
    header = found.header
    wanted = header.draws if draws is None else whole_number("draws", draws, 1)
    if wanted < header.draws:
        raise ValueError(
            f"draws can only be increased: the run in {found.path} has draws={header.draws}, got {wanted}."
        )
    rule = header.rule if until is None and draws is None else checked_rule(until)
    points = [None if point is None else np.array(point, dtype=np.float64) for point in header.points]
    if any(point is not None and point.shape != (target.dim,) for point in points):
        raise StoreError(f"the run in {found.path} has initial states with another number of parameters.", found.path)
    plan = RunPlan(wanted, header.tune, header.chains, header.thin, header.seeds, points, rule)
    return run_session(choices, plan, ExistingStore(found), cores, max_seconds, progressbar)
