"""Tasks in any `concurrent.futures.Executor`: threads, processes, a cluster. Results come in the order of the tasks.

Only ``submit`` is asked of it, and of futures ``result``, ``done`` and ``cancel``. An executor of other processes is
sent the function as bytes, made by cloudpickle, since functions inside functions do not pickle otherwise; a process
unpickles it once for all its tasks.

Whoever gives a pass up, by an error, Ctrl-C or the end of the time, does not wait for it: tasks that have not begun are
cancelled, those in threads of this process end after the block that they are at, others where they are.
"""

from __future__ import annotations

import functools
import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import BrokenExecutor, CancelledError, Future, ThreadPoolExecutor
from typing import Any

from ..errors import PassGivenUp, SourceError
from .passes import in_own_thread, look, threads

_AHEAD = 4  # tasks for each processor that are submitted before their results are asked for
_PATIENCE = 0.1  # seconds between two looks at whoever may give a pass up
_ELSEWHERE = 64  # the same where the number of workers is not known: a task waits at its executor, not in memory


def in_order(executor: Any, function: Callable[..., Any], tasks: Iterable[tuple]) -> Iterator[Any]:
    """``function(*task)`` of every task, whose first part has a ``place``, by which an error names what was lost."""
    given_up = threading.Event()
    executor, call, ahead = _called(executor, function, given_up)
    if executor is None:
        yield from (function(*task) for task in tasks)
        return
    waiting: deque[tuple[Future, str]] = deque()
    try:
        for task in tasks:
            waiting.append((_submitted(executor, call, task), task[0].place))
            if len(waiting) >= ahead:
                yield _result(*waiting.popleft())
        while waiting:
            yield _result(*waiting.popleft())
    finally:
        given_up.set()
        running = [future for future, _ in waiting if not future.cancel()]
        for future in running if isinstance(executor, ThreadPoolExecutor) else ():
            future.exception()  # nothing may run on behind one's back: it ends after a block


def _called(executor: Any, function: Callable[..., Any], given_up: threading.Event) -> tuple[Any, tuple, int]:
    """The executor to be used, what to submit before a task's own arguments, and how many tasks ahead."""
    if executor is None:
        if in_own_thread() or (os.cpu_count() or 1) == 1:
            return None, (function,), 1
        return threads(), (_until, given_up, function), _AHEAD * (os.cpu_count() or 1)
    if isinstance(executor, ThreadPoolExecutor):
        return executor, (_until, given_up, function), _ELSEWHERE
    return executor, (run_pickled, pickled(function)), _ELSEWHERE


def _submitted(executor: Any, call: tuple, task: tuple) -> Any:
    try:
        return executor.submit(*call, *task)
    except BrokenExecutor as error:
        raise _lost(task[0].place, error) from error


def _result(future: Any, place: str) -> Any:
    try:
        return waited_for(future)
    except (BrokenExecutor, CancelledError) as error:
        raise _lost(place, error) from error


def waited_for(future: Any) -> Any:
    """Its result; meanwhile whoever watches passes may give this one up."""
    while not future.done():
        try:
            return future.result(timeout=_PATIENCE)
        except TimeoutError:  # of waiting or, if it is done by now, maybe the task's own
            look()
    return future.result()


_of_thread = threading.local()


def _until(given_up: threading.Event, function: Callable[..., Any], *task: Any) -> Any:
    """In a thread of this process: ``function``, which may ask between blocks whether it is still wanted."""
    _of_thread.given_up = given_up
    try:
        return function(*task)
    finally:
        _of_thread.given_up = None


def between_blocks() -> None:
    """Raise if nobody wants what this thread computes any more; the error is seen by nobody."""
    given_up = getattr(_of_thread, "given_up", None)
    if given_up is not None and given_up.is_set():
        raise PassGivenUp("the pass was given up.")


def _lost(place: str, error: BaseException) -> SourceError:
    return SourceError(
        f"a worker of the executor was lost while it read {place} ({type(error).__name__}: {error}). Mostly it ran out "
        "of memory: give each worker more, or make the blocks smaller. With a store the run goes on where it was, with "
        "a new executor: tunamh.resume(store, target)."
    )


def pickled(function: Callable[..., Any]) -> bytes:
    """A function as bytes, with what it has around it."""
    try:
        import cloudpickle
    except ImportError:
        raise ImportError(
            "an executor of other processes needs cloudpickle, by which functions are sent to them: "
            "pip install cloudpickle."
        ) from None
    return cloudpickle.dumps(function)


@functools.lru_cache(maxsize=4)
def _unpickled(function: bytes) -> Callable[..., Any]:
    import pickle

    with _unpickling:
        return pickle.loads(function)


_unpickling = threading.RLock()


def run_pickled(function: bytes, *task: Any) -> Any:
    """In a worker: the function that the bytes are, of one task."""
    return _unpickled(function)(*task)
