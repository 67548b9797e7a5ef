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
from concurrent.futures import BrokenExecutor, CancelledError, Future, ThreadPoolExecutor, wait
from typing import Any, NamedTuple, Protocol, runtime_checkable

from .._arguments import shown
from ..errors import PassGivenUp, SourceError
from ..process.stages import look
from .passes import in_own_thread, threads

_AHEAD = 4  # tasks for each processor that are submitted before their results are asked for
_PATIENCE = 0.1  # seconds between two looks at whoever may give a pass up
_LONGEST_BLOCK = 10.0  # seconds, after which a task that is not wanted any more hangs
_ELSEWHERE = 64  # the same where the number of workers is not known: a task waits at its executor, not in memory


@runtime_checkable
class Submits(Protocol):
    """What the library needs of an executor."""

    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> Any: ...


@runtime_checkable
class Awaited(Protocol):
    """What the library needs of a future."""

    def result(self, timeout: float | None = None) -> Any: ...

    def done(self) -> bool: ...

    def cancel(self) -> Any: ...


def in_order(executor: Any, function: Callable[..., Any], tasks: Iterable[tuple]) -> Iterator[Any]:
    """Yield ``function(*task)`` of every task in their order.

    The first part of a task has a ``place``, which an error names if the task is lost.
    """
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
        if isinstance(executor, ThreadPoolExecutor):
            wait(running, timeout=_LONGEST_BLOCK)  # nothing may run on behind one's back: it ends after a block


def _called(executor: Any, function: Callable[..., Any], given_up: threading.Event) -> tuple[Any, tuple, int]:
    """The executor to be used, what to submit before a task's own arguments, and how many tasks ahead."""
    if executor is None:
        if in_own_thread() or (os.cpu_count() or 1) == 1:
            return None, (function,), 1
        return threads(), (_until, given_up, function), _AHEAD * (os.cpu_count() or 1)
    if isinstance(executor, ThreadPoolExecutor):
        return executor, (_until, given_up, function), _ELSEWHERE
    return executor, (_answered, pickled(function)), _ELSEWHERE


class Answer(NamedTuple):
    """The result of a worker for the piece at ``place``.

    The place shows that an executor has returned the right object.
    """

    place: str
    result: Any


def _submitted(executor: Any, call: tuple, task: tuple) -> Any:
    place = task[0].place
    try:
        future = executor.submit(*call, *task)
    except BrokenExecutor as error:
        raise _lost(place, error) from error
    except Exception as error:
        raise SourceError(
            f"the executor did not accept {place} ({type(error).__name__}: {error}). If it was shut down, open the "
            f"rows again with another executor. {_GOES_ON}"
        ) from error
    if not isinstance(future, Awaited):
        raise TypeError(
            f"the executor's submit must return a future, with result, done and cancel, got {shown(future)}."
        )
    return future


def _result(future: Any, place: str) -> Any:
    _wait(future)
    try:
        answer = future.result()
    except (BrokenExecutor, CancelledError) as error:
        raise _lost(place, error) from error
    except Exception as error:
        if vars(error).get("in_task"):  # of the user's rows or functions
            raise
        raise SourceError(f"the executor failed on {place} ({type(error).__name__}: {error}). {_GOES_ON}") from error
    if not isinstance(answer, Answer) or answer.place != place:
        raise SourceError(
            f"the executor gave back {shown(answer)} instead of the result for {place}: its futures must "
            "return what the function returned."
        )
    return answer.result


def waited_for(future: Any) -> Any:
    """Return the result of a future. While it waits, the pass can be stopped."""
    _wait(future)
    return future.result()


def _wait(future: Any) -> None:
    while not future.done():
        try:
            future.result(timeout=_PATIENCE)
        except TimeoutError:  # of waiting or, if it is done by now, maybe the task's own
            look()
        except (Exception, CancelledError):
            return  # it is asked for again


class _OfThread(threading.local):
    given_up: threading.Event | None = None


_of_thread = _OfThread()


def _until(given_up: threading.Event, function: Callable[..., Any], *task: Any) -> Any:
    """In a thread of this process: ``function``, which may ask between blocks whether it is still wanted."""
    _of_thread.given_up = given_up
    try:
        return Answer(task[0].place, _done(function, task))
    finally:
        _of_thread.given_up = None


def _answered(function: bytes, *task: Any) -> Answer:
    """In a worker: the function that the bytes are, of one task."""
    return Answer(task[0].place, _done(_unpickled(function), task))


def _done(function: Callable[..., Any], task: tuple) -> Any:
    try:
        return function(*task)
    except Exception as error:
        error.in_task = True  # type: ignore[attr-defined]
        raise


def between_blocks() -> None:
    """Raise an error if the result of this thread is no longer needed. Nobody sees this error."""
    if _of_thread.given_up is not None and _of_thread.given_up.is_set():
        raise PassGivenUp("the pass was given up.")


def _lost(place: str, error: BaseException) -> SourceError:
    return SourceError(
        f"a worker of the executor was lost while it read {place} ({type(error).__name__}: {error}). Usually it ran "
        f"out of memory: give each worker more memory, or make the blocks smaller. {_GOES_ON}"
    )


_GOES_ON = "If the run has a store, tunamh.resume(store, target) continues it with a new executor."


def pickled(function: Callable[..., Any]) -> bytes:
    """Return a function as bytes, including the variables that it refers to."""
    try:
        import cloudpickle
    except ImportError:
        raise ImportError(
            "an executor with other processes needs cloudpickle, which sends functions to them: pip install "
            "cloudpickle."
        ) from None
    return cloudpickle.dumps(function)


@functools.lru_cache(maxsize=4)
def _unpickled(function: bytes) -> Callable[..., Any]:
    import pickle

    with _unpickling:
        return pickle.loads(function)


_unpickling = threading.RLock()


def run_pickled(function: bytes, *task: Any) -> Any:
    """Run a function that `pickled` has made bytes of; workers call this."""
    return _unpickled(function)(*task)
