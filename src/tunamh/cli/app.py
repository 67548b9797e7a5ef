"""The command's own frame: its name, its version, and how errors are told."""

from __future__ import annotations

import errno
import functools
import inspect
import os
import sys
import warnings
from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from typing import Annotated, Any, TypeVar, get_type_hints

import typer

from .streams import patient_streams

Command = TypeVar("Command", bound=Callable[..., Any])

_HELP = """Draw exact posterior samples of a regression from a file of data.

    tunamh check  flights.csv "late ~ hour" --family logistic

    tunamh sample flights.csv "late ~ hour" --family logistic --out run.nc

    tunamh summary run.nc

    tunamh predict run.nc new.csv --out predicted.csv

    tunamh effects run.nc flights.csv --compare hour --average

    tunamh check-fit run.nc flights.csv

    tunamh report  run.nc --out report.html

    tunamh compare run.nc other.nc flights.csv

`tunamh COMMAND --help` explains a command and shows examples.
"""

app = typer.Typer(add_completion=False, help=_HELP, rich_markup_mode=None, pretty_exceptions_enable=False)


@app.callback(invoke_without_command=True)
def main(
    context: typer.Context, version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False
) -> None:
    if context.invoked_subcommand is None and not version:
        print(context.get_help())
        raise typer.Exit
    if version:
        from .._version import __version__

        print(__version__)
        raise typer.Exit


class Refused(Exception):
    """An error that the user of the shell can correct. The text says how."""


def command(function: Command) -> Command:
    """Make a command from a function.

    Errors that the user can correct are one message and exit code 2, without a traceback.

    If standard output cannot be written, the work is done nevertheless, and the exit code is 1. A reader that stops
    early (``| head``) is no failure. With ``TUNAMH_TRACEBACK=1`` in the environment, errors show where they come from.
    """

    @functools.wraps(function)
    def guarded(*arguments: Any, **named: Any) -> None:
        with patient_streams() as out:
            status = _status(functools.partial(function, *arguments, **named))
            out.flush()
            if out.failure is not None and out.failure.errno != errno.EPIPE:
                told = f"error: standard output could not be written ({out.failure.strerror or out.failure})"
                print(told + ("." if status else "; all else was done."), file=sys.stderr)
                status = status or 1
        if status:
            raise typer.Exit(status)

    return app.command()(guarded)  # type: ignore[return-value]


def with_options(function: Callable[..., None]) -> Callable[..., None]:
    """Make a command for the shell from a function that takes data classes.

    Their fields become options of the command.
    """
    hints = get_type_hints(function, include_extras=True)
    given: dict[str, Any] = {
        name: kind if is_dataclass(kind) else None for name, kind in hints.items() if name != "return"
    }

    @functools.wraps(function)
    def command(**named: Any) -> None:
        for name, kind in given.items():
            if kind is not None:
                named[name] = kind(**{one.name: named.pop(one.name) for one in fields(kind)})
        function(**named)

    own = inspect.signature(function, eval_str=True).parameters
    parameters = [
        one
        for name, kind in given.items()
        for one in ([own[name].replace(kind=inspect.Parameter.KEYWORD_ONLY)] if kind is None else _options_of(kind))
    ]
    vars(command)["__signature__"] = inspect.Signature(parameters)
    command.__annotations__ = {one.name: one.annotation for one in parameters}
    return command


def _options_of(kind: Any) -> list[inspect.Parameter]:
    """A parameter for each field of a data class."""
    hints, found = get_type_hints(kind, include_extras=True), []
    for one in fields(kind):
        default = one.default if one.default_factory is MISSING else one.default_factory()
        default = inspect.Parameter.empty if default is MISSING else default
        keyword = inspect.Parameter.KEYWORD_ONLY
        found.append(inspect.Parameter(one.name, keyword, default=default, annotation=hints[one.name]))
    return found


def _status(work: Callable[[], Any]) -> int:
    """The exit code of what a command does."""
    from ..errors import TunaMHError

    before, warnings.showwarning = warnings.showwarning, _shown
    try:
        work()
    except typer.Exit as ended:
        return ended.exit_code
    except (Refused, TunaMHError, Warning, *_MENDABLE) as error:
        if os.environ.get("TUNAMH_TRACEBACK"):
            raise
        told = "there is not enough memory." if isinstance(error, MemoryError) else told_by(error)
        print(f"error: {told}", file=sys.stderr)
        return 2
    finally:
        warnings.showwarning = before
    return 0


_MENDABLE = (ValueError, TypeError, OSError, ImportError, MemoryError, OverflowError)


def _shown(message: Any, *_: Any, **__: Any) -> None:
    """A warning as a person at a shell reads it."""
    print(f"warning: {told_by(message)}", file=sys.stderr)


def told_by(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.strerror}{f': {error.filename}' if error.filename else ''}"
    from ..errors import for_shell

    return for_shell(error) or type(error).__name__
