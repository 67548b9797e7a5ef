"""What a command prints must not take its work: a reader who left, a full disk or a closed stream is told last."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from collections.abc import Iterator
from typing import Any


class Patient:
    """A text stream that never raises. It stores its first failure and prints nothing after it."""

    def __init__(self, stream: Any):
        self.stream = stream
        self.failure: OSError | None = None

    def write(self, text: str) -> int:
        if text and self.stream is None:
            self.failure = OSError(errno.EBADF, "it is closed")  # as `>&-` of a shell leaves it
        elif self.failure is None:
            self._try(lambda: self._written(text))
        return len(text)

    def flush(self) -> None:
        if self.stream is not None and self.failure is None:
            self._try(self.stream.flush)

    def _written(self, text: str) -> None:
        try:
            self.stream.write(text)
        except UnicodeEncodeError as error:  # a name that the terminal's alphabet does not have
            self.stream.write(text.encode(error.encoding, "backslashreplace").decode(error.encoding))

    def _try(self, action: Any) -> None:
        try:
            action()
        except (OSError, ValueError) as error:
            self.failure = error if isinstance(error, OSError) else OSError(errno.EBADF, "it is closed")
            self._let_go()

    def _let_go(self) -> None:
        """What is still in the buffer goes nowhere: else Python tries it again as it ends, and complains."""
        if self.stream in (sys.__stdout__, sys.__stderr__):
            with contextlib.suppress(OSError, ValueError):
                nowhere = os.open(os.devnull, os.O_WRONLY)
                os.dup2(nowhere, self.stream.fileno())
                os.close(nowhere)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


@contextlib.contextmanager
def patient_streams() -> Iterator[Patient]:
    """Make standard output and standard error streams that never raise.

    The context returns the stream of standard output, which says at the end whether everything was printed.
    """
    out, told = Patient(sys.stdout), Patient(sys.stderr)
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(told):
        try:
            yield out
        finally:
            out.flush()
            told.flush()
