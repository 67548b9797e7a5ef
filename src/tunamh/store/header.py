"""The header of a store: what the run was told, what it must find again, and names for its draws."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from .._arguments import whole_number
from ..chains.kernel import OverSteps, Statistic, Statistics
from ..chains.metropolis import statistics_of
from ..results.layout import Layout, plain_layout
from ..results.until import Until
from .errors import StoreError
from .files import read_whole, write_whole

NAME, COPY = "header.json", "header.copy.json"
_KIND = "tunamh store 1"
_KINDS: dict[str, Any] = {
    "run": str,
    "seed": dict,
    "points": list,
    "until": dict | None,
    "columns": list,
    "variables": dict,
    "exact": bool,
    "extra": str | None,
    "statistics": list | None,
    "settings": dict,
    "identity": dict,
}
_MOST_BYTES = 1 << 34  # of a header, and of the draws of a chunk
_MOST_WORDS = 1024


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


@dataclass(frozen=True)
class Header:
    """The description of a stored run: the file ``header.json`` in its folder. All values can be written as JSON.

    Parameters
    ----------
    run : str
        A random name that all chunks (files of draws) of this run contain.
    draws, tune, thin, chains : int
        The arguments of `tunamh.sample`. Of these, only ``draws`` may increase later.
    seed : dict
        The numbers of a NumPy SeedSequence.
    points : list
        The initial state of each chain, in the coordinates of the chain; None: the chain chooses it.
    until : dict or None
        The fields of `tunamh.Until`.
    chunk_draws : int
        The number of draws in a chunk.
    columns : list of two int
        How many numbers a draw has: in the coordinates of the chain, and as parameters of the user.
    variables : dict
        The names of the variables and their dimensions (`tunamh.results.layout.Layout`).
    exact, settings
        The arguments of `tunamh.results.tree.to_datatree`.
    extra : str or None
        The name of a further statistic in stores without ``statistics``.
    statistics : list or None
        For each statistic of the steps: its name, how the values of several steps are combined, whether it counts rows,
        and whether results contain it. None in stores of old versions.
    identity : dict
        What must be the same if the run continues with the same draws (`tunamh.store.identity`).
    """

    run: str
    draws: int
    tune: int
    thin: int
    chains: int
    seed: dict[str, Any]
    points: list[list[float] | None]
    until: dict[str, Any] | None
    chunk_draws: int
    columns: list[int]
    variables: dict[str, Any]
    exact: bool
    extra: str | None
    settings: dict[str, Any]
    identity: dict[str, str] = field(default_factory=dict)
    statistics: list[Any] | None = None

    def __post_init__(self) -> None:
        """A header may be a stranger's: every value has its kind, and none asks for more than there can be."""
        given = asdict(self)
        for name, least in (("draws", 1), ("tune", 0), ("thin", 1), ("chains", 1), ("chunk_draws", 1)):
            whole_number(name, given[name], least)
        for name, kind in _KINDS.items():
            if not isinstance(given[name], kind):
                raise TypeError(f"{name} has the wrong type")
        if len(self.points) != self.chains or len(self.columns) != 2:
            raise ValueError("there must be a point for every chain and two numbers of columns")
        if not all(point is None or all(map(_is_number, point)) for point in self.points):
            raise TypeError("points must be lists of numbers")
        if not all(map(_is_text, self.identity.values())) or not self._names_a_kernel:
            raise TypeError("identity or settings are not complete")
        self._check_sizes()
        _ = self.columns_of_record
        _ = self.seeds, self.rule  # raise where they make none

    @property
    def _names_a_kernel(self) -> bool:
        named = {"kernel", "why"} <= self.settings.keys() or {"test", "proposal", "why"} <= self.settings.keys()
        return named and len(self.statistics or ()) <= _MOST_WORDS

    @property
    def columns_of_record(self) -> Statistics:
        """Return the statistics of the steps. Raises an error if the stored ones are not valid."""
        if self.statistics is None:
            return Statistics(statistics_of(self.extra))
        found = Statistics(Statistic(name, OverSteps[how], rows, shown) for name, how, rows, shown in self.statistics)
        if not all(_is_text(one.name) and {type(one.rows), type(one.shown)} == {bool} for one in found):
            raise TypeError("statistics are not valid")
        return found

    def _check_sizes(self) -> None:
        walked, natural = (whole_number("columns", n, 0) for n in self.columns)
        if natural != self.layout.size:
            raise ValueError("the number of names is not the number of columns")
        if walked > 100 * (natural + 10) or 8 * self.chunk_draws * (walked + natural + 1) > _MOST_BYTES:
            raise ValueError("its chunks would be larger than any that tunamh writes")

    @property
    def seeds(self) -> np.random.SeedSequence:
        """Return the SeedSequence of the run, before any other seed was made from it."""
        if not 4 <= whole_number("pool_size", self.seed["pool_size"], 1) <= _MOST_WORDS:
            raise ValueError("the seed is not valid")
        return np.random.SeedSequence(**self.seed)

    @property
    def layout(self) -> Layout:
        """Return the names and dimensions of the variables of the result."""
        return Layout.from_json(self.variables)

    @property
    def rule(self) -> Until | None:
        """Return the rule that stops the run (`tunamh.Until`); None if there is no rule."""
        return None if self.until is None else Until(**self.until)

    @property
    def sizes(self) -> tuple[int, int, int]:
        """Return three numbers of columns.

        They are the numbers of coordinates of the chain, of parameters, and of statistics for each draw.
        """
        return self.columns[0], self.columns[1], len(self.columns_of_record)

    def write(self, folder: Path) -> None:
        """Write the header and a copy of it into ``folder``.

        The copy is written first. So if the process is killed, one of the two files is complete.
        """
        text = json.dumps({"kind": _KIND, "checksum": _checksum(asdict(self)), "header": asdict(self)}, indent=1)
        for name in (COPY, NAME):
            write_whole(folder / name, text.encode())

    @classmethod
    def read(cls, folder: Path) -> Header:
        """Return the header of the run in ``folder``. Raises `StoreError` if there is none, or if it is damaged."""
        path = folder / NAME
        try:
            text = read_whole(path, _MOST_BYTES)
        except (FileNotFoundError, NotADirectoryError):
            raise StoreError(
                f"there is no stored run in {folder}, because it has no file {NAME}: tunamh.sample(target, "
                f"store=...) starts one.",
                folder,
            ) from None
        except OSError as error:
            raise StoreError(f"{path} could not be read ({error.strerror}): check its permissions.", path) from error
        except ValueError as error:
            raise StoreError(f"{path} is no header of a stored run: {error}.", path) from None
        try:
            found = json.loads(text)
            if found["kind"] != _KIND:
                raise ValueError(f"it says {str(found['kind'])[:40]!r}, where {_KIND!r} is wanted")
            if found["checksum"] != _checksum(found["header"]):
                raise ValueError("its checksum does not fit")
            return cls(**_as_today(found["header"]))
        except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError) as error:
            raise StoreError(
                f"{path} is damaged or written by another version of tunamh ({error}). There is a copy in the same "
                f"folder: replace the file by {COPY}.",
                path,
            ) from error


def _as_today(values: dict[str, Any]) -> dict[str, Any]:
    """A header of before, whose variables lay one behind the other: a list of names with labels."""
    if not isinstance(values["variables"], list):
        return values
    return {**values, "variables": plain_layout([(name, labels) for name, labels in values["variables"]]).to_json()}


def seed_as_dict(seed: np.random.SeedSequence, spawned: int) -> dict[str, Any]:
    """Return a SeedSequence as a dict for JSON, in the state before the last ``spawned`` children were spawned."""
    entropy: Any = seed.entropy
    return {
        "entropy": [int(word) for word in entropy] if np.ndim(entropy) else int(entropy),
        "spawn_key": [int(word) for word in seed.spawn_key],
        "pool_size": int(seed.pool_size),
        "n_children_spawned": int(seed.n_children_spawned) - spawned,
    }


def _checksum(values: Any) -> str:
    return hashlib.blake2b(json.dumps(values, sort_keys=True).encode(), digest_size=16).hexdigest()
