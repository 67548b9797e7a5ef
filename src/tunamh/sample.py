"""The front door: check, set up, run the chains, collect."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ._arguments import flag, has_row_labels, numbers, positive_number, seed_sequence, shown, whole_number
from ._blas import one_blas_thread
from ._interrupts import HeldInterrupts
from ._jit import nothing_compiled_yet
from .acceptance.base import AcceptanceTest
from .capabilities import Swept, offers
from .choose import choose
from .convergence import judge
from .data.passes import announce, watching
from .errors import ConvergenceWarning, NoDraws
from .laplace_measure import laplace_attributes
from .progress import Progress
from .results import ChainResult, add_summaries, closing_line, import_what_the_end_needs, to_datatree, to_plain_dict
from .run import ChainRun, Clock, SetUp, run_all
from .targets.base import Target


def sample(
    target: Target,
    *,
    test: AcceptanceTest | None = None,
    proposal: Any = None,
    control: Callable[[Target], Target] | None = None,
    draws: int = 1000,
    tune: int = 1000,
    chains: int = 4,
    cores: int | None = None,
    rng: Any = None,
    thin: int = 1,
    init: Any = None,
    max_seconds: float | None = None,
    progressbar: bool = True,
) -> Any:
    """Draw from the posterior of ``target``.

    Numbers that you give are never adapted; those left None are tuned in warm-up and frozen before the first kept draw.

    The same seed gives the same draws, bit for bit, on any number of cores and of BLAS threads, as long as processor
    instructions and library versions are the same; elsewhere the last digits of sums may differ, and with them the
    draws, but not their law. While it runs, BLAS uses one thread in the whole process.

    Parameters
    ----------
    target : Target
        `LogisticRegression`, `RobustRegression`, `GaussianMixture`, `FiniteWalk`, `EnergyTarget`, ...
    test : acceptance test, optional
        `TunaMH`, `MHSS`, `FactorizedMH`, `MH`, `PoissonMH`, `FlyMC`; docs/choose.md says which.
    proposal : optional
        `RandomWalk`, `Autoregressive` for regressions and other Taylor targets, `NeighbourWalk` for finite ones, or
        your own ``@numba.njit`` function.
    control : optional
        A control variate such as `Taylor`: maps the target to one with the same posterior and smaller bounds. With none
        of the three named, all are chosen for the target; else what is left out is `TunaMH`, `RandomWalk` and none.
    draws : int
        Kept draws per chain.
    tune : int
        Warm-up steps per chain, not kept. With 0 every step from ``init`` is kept.
    chains, cores : int
        Chains, and threads that run them (default: as many as the machine has). Draws do not depend on ``cores``.
    rng : seed, SeedSequence or Generator, optional
    thin : int
        Steps per kept draw. ``acceptance_rate`` and ``batch_size`` are then means over these steps, ``accepted`` and
        ``full_data_step`` tell whether any of them was, ``bound_ratio`` is their maximum.
    init : (d,) or (chains, d), optional
        Initial states. By default each chain starts from the target's overdispersed law: the Laplace law of its own
        random subsample for regressions, wider than the Laplace law with a control variate, uniform on the box or the
        states, standard normal for an `EnergyTarget`.
    max_seconds : float, optional
        Stop after this time, set-up and warm-up included, compiling not, and return what exists.
    progressbar : bool
        Show set-up, the choice, sampling, and a closing line on stderr. Nothing is shown where the environment variable
        ``CI`` is set.

    Returns
    -------
    xarray.DataTree
        Groups ``posterior`` (variable ``theta``: chain, draw, parameter; unknown scales and the like are variables of
        their own) and ``sample_stats``. Where proposals come from Laplace's law, attributes ``laplace_...`` of the
        posterior tell how far it is from that law (docs/choose.md). After Ctrl-C or ``max_seconds`` all chains are cut
        to the shortest; ``stopped`` in the settings attribute tells which it was.

    Warns
    -----
    ConvergenceWarning
        The rank-normalised R-hat of a parameter exceeds 1.01, one has fewer than 100 effective draws per chain, or a
        chain never moved; not for fewer than 100 draws per chain. Where a filter makes an error of it, the draws are in
        its attribute ``posterior``.

    Raises
    ------
    NoDraws
        ``max_seconds`` ran out before every chain had a draw.
    KeyboardInterrupt
        Ctrl-C before every chain had a draw.

    Examples
    --------
    >>> posterior = tunamh.sample(tunamh.LogisticRegression(X, y), draws=2000, rng=1)
    >>> arviz_stats.summary(posterior)
    """
    if not isinstance(target, Target):
        raise TypeError(f"target must be a tunamh target such as LogisticRegression(X, y), got {shown(target)}.")
    draws, tune = whole_number("draws", draws, 1), whole_number("tune", tune, 0)
    chains, thin = whole_number("chains", chains, 1), whole_number("thin", thin, 1)
    cores = None if cores is None else whole_number("cores", cores, 1)
    max_seconds = None if max_seconds is None else positive_number("max_seconds", max_seconds, infinite=True)
    progressbar, seed = flag("progressbar", progressbar), seed_sequence("rng", rng)
    points = _initial_points(init, chains, target)
    if control is not None and (not callable(control) or isinstance(control, type)):
        raise TypeError(f"control must be a control variate such as Taylor(order=2), got {shown(control)}.")
    target.check_data()
    import_what_the_end_needs()
    clock = Clock(max_seconds)
    with one_blas_thread(), Progress("set-up", show=progressbar) as progress:
        with watching(SetUp(target.n_rows, clock, progress)):
            choice = choose(target, None if test is None else _checked_test(test), proposal, control)
            target, test, proposal, why = choice
            described = repr(target)
            for part in (test, proposal):
                if hasattr(part, "prepare"):
                    target = part.prepare(target)
            ready_test, ready_proposal = test.bind(target), proposal.bind(target)
            runs = [
                ChainRun(target, ready_test, ready_proposal, child, number, point, draws, tune, thin)
                for number, (child, point) in enumerate(zip(seed.spawn(chains), points, strict=True))
            ]
            progress.say(why)
            announce("loading compiled code (first use compiles it)")
            if nothing_compiled_yet():
                progress.say("compiling, which the first use after an installation does: 10 to 30 seconds")
            runs[0].open()
            runs[0].compile()
            settings = {
                "target": described,
                "test": repr(test),
                "proposal": repr(proposal),
                "why": why,
                "seed": str(seed.entropy),
                "draws": draws,
                "tune": tune,
                "thin": thin,
                "rows": target.n_rows,
                "total_bound": target.total_bound,
                "data": target.fingerprint,
            }
        progress.restart(f"{chains} chain{'s' * (chains > 1)}")
        with HeldInterrupts() as ctrl_c:  # from here on nothing may take the draws
            run_all(runs, min(chains, cores or os.cpu_count() or 1), clock, progress, ctrl_c)
            seconds, kept = clock.seconds, min(run.kept for run in runs)
            if kept == 0:
                if ctrl_c.heard:
                    raise KeyboardInterrupt("interrupted before every chain had a draw")
                raise NoDraws(
                    f"max_seconds={max_seconds:g} ran out before every chain had a draw; allow more time or less tune"
                )
            finished = all(run.finished for run in runs)
            settings["stopped"] = "finished" if finished else "interrupted" if ctrl_c.heard else "max_seconds"
            settings["knobs"] = [run.state.test_knobs[:8].tolist() for run in runs]
            results = [run.result() for run in runs]
            walked = [result.draws for result in results], [result.record for result in results]
            from_laplace = partial(laplace_attributes, target, test, proposal, ready_test, *walked, thin, seed)
            results = [result._replace(draws=target.natural(result.draws)) for result in results]
            about = {"exact": test.exact, "extra": ready_test.reports, "settings": settings}
            if settings["stopped"] == "max_seconds":
                progress.say(f"max_seconds={max_seconds:g} ran out: {kept:,} of {draws:,} draws per chain are returned")
            posterior, complaints = _ended(results, target, about, from_laplace, seconds, progress)
            if offers(target, Swept):
                add_summaries(posterior, target, [run.state.chain.memory for run in runs])
            if settings["stopped"] == "interrupted":
                told = f"interrupted: {kept:,} of {draws:,} draws per chain are returned"
                complaints.insert(0, UserWarning(told))
            for complaint in complaints:
                _warn(complaint, posterior)
    return posterior


def _ended(
    results: list[ChainResult],
    target: Target,
    about: dict[str, Any],
    from_laplace: Callable[[], dict[str, Any]],
    seconds: float,
    progress: Progress,
) -> tuple[Any, list[Warning]]:
    """The draws as a DataTree, and what to warn of. What fails here becomes a warning: the draws must not be lost."""
    complaints: list[Warning] = []
    kept = min(len(result.draws) for result in results)
    laplace: dict[str, Any] = {}
    try:
        laplace = from_laplace()
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        complaints.append(UserWarning(f"the distance from Laplace's approximation could not be measured ({reason})"))
    try:
        posterior = to_datatree(results, target.variables, laplace=laplace, **about)
    except Exception as error:
        posterior = to_plain_dict(results)
        reason = f"{type(error).__name__}: {error}"
        complaints.append(UserWarning(f"no DataTree could be made ({reason}): the draws are in a plain dictionary"))
    try:
        convergence = judge(np.stack([result.draws[:kept] for result in results]))
        progress.say(closing_line(results, convergence, target, about["settings"]["thin"], seconds))
        told = None if convergence is None else convergence.complaint(target.reported, kept)
        if told is not None:
            complaints.append(ConvergenceWarning(told))
    except Exception as error:
        complaints.append(UserWarning(f"convergence could not be judged ({type(error).__name__}: {error})"))
    return posterior, complaints


def _warn(complaint: Warning, posterior: Any) -> None:
    """Warn the caller of `sample`; if a filter makes an error of it, the error carries the draws."""
    try:
        warnings.warn(complaint, stacklevel=3)
    except Warning as error:
        error.posterior = posterior  # type: ignore[attr-defined]
        error.add_note("The draws are in the attribute `posterior` of this error.")
        raise


def _checked_test(test: Any) -> AcceptanceTest:
    if isinstance(test, type) or not (hasattr(test, "bind") and hasattr(test, "exact")):
        raise TypeError(f"test must be an acceptance test such as TunaMH() or MH(), got {shown(test)}.")
    return test


def _initial_points(init: Any, chains: int, target: Target) -> list[np.ndarray | None]:
    """One point per chain; a dict, or a pandas Series whose labels are names of parameters, goes by name."""
    if init is None:
        return [None] * chains
    names, dim = target.names, target.dim
    if hasattr(init, "data_vars"):  # a data set of draws or of their means, one value of each variable
        missing = [name for name, _ in target.variables if name not in init]
        if missing:
            raise ValueError(
                f"init has no variable {', '.join(missing)}; the posterior's variables are wanted, by name."
            )
        init = np.concatenate([np.ravel(init[name].values) for name, _ in target.variables])
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
    return [target.walking(point.copy()) for point in np.broadcast_to(points, (chains, dim))]
