"""The front door: check, and hand over to the session."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._arguments import explained, flag, numbers, positive_number, seed_sequence, shown, whole_number
from ..acceptance.base import AcceptanceTest
from ..chains.kernel import Kernel
from ..results.layout import layout_of
from ..results.until import Until, checked_rule
from ..store.folder import as_path, refuse_taken
from ..tables.matrices import has_row_labels
from ..targets.base import Target
from .destination import NewStore, RunPlan
from .session import Choices, run_session


@explained
def sample(
    target: Target,
    *,
    test: AcceptanceTest | None = None,
    proposal: Any = None,
    control: Callable[[Target], Target] | None = None,
    kernel: Kernel | None = None,
    draws: int = 1000,
    tune: int = 1000,
    chains: int = 4,
    cores: int | None = None,
    rng: Any = None,
    thin: int = 1,
    init: Any = None,
    max_seconds: float | None = None,
    store: Any = None,
    until: Until | None = None,
    progressbar: bool = True,
) -> Any:
    """Draw from the posterior of ``target``.

    Warm-up tunes the parameters of the sampler that you do not set. They are fixed before the first kept draw. Warm-up
    never changes a value that you set.

    The same seed gives the same draws, bit for bit, on any number of cores and BLAS threads, for the same processor
    instructions and library versions. On other machines the last digits of sums may differ; then the draws differ, but
    not their distribution. During sampling BLAS uses one thread in the whole process.

    Parameters
    ----------
    target : Target
        The result of `tunamh.regression`, a `GLM`, a `MixedModel`, an `EnergyTarget`, ...
    test : acceptance test, optional
        `TunaMH`, `MHSS`, `FactorizedMH`, `MH`, `PoissonMH`, `FlyMC`; docs/choose.md compares them.
    proposal : optional
        `RandomWalk`, `Autoregressive` for regressions and other Taylor targets, `NeighbourWalk` for finite ones, or
        your own ``@numba.njit`` function.
    control : optional
        A control variate such as `Taylor`: a function that returns a target with the same posterior and smaller bounds.
        If you set none of test, proposal and control, `sample` chooses all three. Otherwise the missing ones are
        `TunaMH`, `RandomWalk` and no control variate.
    kernel : Kernel, optional
        The step of a chain, instead of ``test`` and ``proposal``: ``InTurn(first, second)`` for several kernels,
        ``MetropolisHastings(proposal, test)``, or your own (docs/kernels.md).
    draws : int
        Number of kept draws per chain.
    tune : int
        Number of warm-up steps per chain. Their draws are not kept. With 0 every step from ``init`` is kept.
    chains, cores : int
        Number of chains, and of threads that run them (default: the number of cores). Draws do not depend on ``cores``.
    rng : seed, SeedSequence or Generator, optional
    thin : int
        Number of steps per kept draw. In ``sample_stats``, ``acceptance_rate`` and ``batch_size`` are means over these
        steps, and ``bound_ratio`` is the maximum. ``accepted`` and ``full_data_step`` are True if they are True for at
        least one of these steps.
    init : (d,) or (chains, d), optional
        Initial states. By default each chain starts at a random state from an overdispersed distribution. This is the
        Laplace approximation of a random subsample for regressions, a wider Laplace approximation with a control
        variate, a uniform distribution for finite targets and boxes, and a standard normal distribution for an
        `EnergyTarget`.
    max_seconds : float, optional
        Stop after this time and return the draws so far. The time includes set-up and warm-up, but not compilation.
    store : str or path, optional
        A new folder. `sample` saves the run in this folder during sampling (docs/store.md). `tunamh.resume` continues
        it after a kill, Ctrl-C or ``max_seconds``, with the same draws; `tunamh.read_store` reads it at any time.
        During sampling only a few megabytes of each chain are then in memory.
    until : Until, optional
        Stop earlier, when the worst parameter has enough effective draws or a small R-hat; ``draws`` is then the
        maximum.
    progressbar : bool
        Show the set-up, the chosen sampler, the progress, and a last line on stderr. If the environment variable ``CI``
        is set, nothing is shown.

    Returns
    -------
    xarray.DataTree
        Groups ``posterior`` (a variable for each term of a formula; otherwise ``theta``: chain, draw, parameter, and
        unknown scales and similar parameters as separate variables), ``sample_stats``, and ``observed_data`` if rows
        are in memory: the responses, or 10,000 of them, with their row numbers. If proposals come from Laplace's
        approximation, the attributes ``laplace_...`` say how far it is from the posterior (docs/choose.md). After
        Ctrl-C or ``max_seconds`` all chains are cut to the length of the shortest chain. In the attribute ``settings``,
        ``stopped`` is ``"finished"``, ``"until"``, ``"interrupted"`` or ``"max_seconds"``.

    Warns
    -----
    ConvergenceWarning
        The rank-normalised R-hat of a parameter exceeds 1.01, a parameter has fewer than 100 effective draws per chain,
        or a chain never moved. There is no check below 100 draws per chain. If a warnings filter turns the warning into
        an error, its attribute ``posterior`` has the draws.

    Raises
    ------
    NoDraws
        ``max_seconds`` ended before every chain had a draw.
    KeyboardInterrupt
        Ctrl-C before every chain had a draw.
    StoreError
        ``store`` exists already or cannot be written, for example on a full disk. The message says what to do.

    Examples
    --------
    >>> posterior = tunamh.sample(tunamh.LogisticRegression(X, y), draws=2000, rng=1)
    >>> arviz_stats.summary(posterior)
    """
    choices = Choices(target, test, proposal, control, kernel).checked()
    draws, tune = whole_number("draws", draws, 1), whole_number("tune", tune, 0)
    chains, thin = whole_number("chains", chains, 1), whole_number("thin", thin, 1)
    cores = None if cores is None else whole_number("cores", cores, 1)
    max_seconds = None if max_seconds is None else positive_number("max_seconds", max_seconds, infinite=True)
    progressbar, seed = flag("progressbar", progressbar), seed_sequence("rng", rng)
    points = _initial_points(init, chains, target)
    until = checked_rule(until)
    path = None if store is None else as_path(store)
    if path is not None:
        refuse_taken(path)
        if not isinstance(seed, np.random.SeedSequence):
            raise TypeError(f"with store=, rng must be made from a seed that can be written down, got {shown(rng)}.")
    plan = RunPlan(draws, tune, chains, thin, seed, points, until)
    return run_session(choices, plan, NewStore(path), cores, max_seconds, progressbar)


def _initial_points(init: Any, chains: int, target: Target) -> list[np.ndarray | None]:
    """One point per chain; a dict, or a pandas Series whose labels are names of parameters, goes by name."""
    if init is None:
        return [None] * chains
    names, dim = target.names, target.dim
    if hasattr(init, "data_vars"):  # a data set of draws or of their means, one value of each variable
        layout = layout_of(target, target.variables)
        missing = [one.name for one in layout.variables if one.name not in init]
        if missing:
            raise ValueError(
                f"init has no variable {', '.join(missing)}; it must have all variables of the posterior, by name."
            )
        init = layout.flat(init)
    if has_row_labels(init) and init.index.is_unique and set(map(str, init.index)) == set(names):
        init = dict(zip(map(str, init.index), init, strict=True))
    if isinstance(init, dict):
        if set(init) != set(names):
            raise ValueError(f"init must name every parameter and no other: {', '.join(names[:10])}.")
        init = [init[name] for name in names]
    points = numbers("init", init)
    if points.shape not in ((dim,), (chains, dim)):
        raise ValueError(
            f"init must have shape ({dim},), one number per parameter, or ({chains}, {dim}), one row per chain, "
            f"got {points.shape}."
        )
    return [target.to_chain(point.copy()) for point in np.broadcast_to(points, (chains, dim))]
