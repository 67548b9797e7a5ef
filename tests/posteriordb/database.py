"""A local copy of posteriordb: a folder `posterior_database`, or a git repository that has one, bare or not."""

from __future__ import annotations

import io
import json
import subprocess
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

_FOLDER = "posterior_database"


class NotThere(LookupError):
    """A file that this copy does not have."""


@dataclass(frozen=True)
class Database:
    """Files are read as they are asked for; nothing is copied."""

    path: Path

    def posteriors(self) -> list[dict[str, Any]]:
        """Descriptions of all posteriors with reference draws; one that shares those of another is left out."""
        names = [name for name in self._names("posteriors") if name.endswith(".json")]
        found = [json.loads(self._read(f"posteriors/{name}")) for name in sorted(names)]
        return [one for one in found if one.get("reference_posterior_name") == one["name"]]

    def data(self, posterior: dict[str, Any]) -> dict[str, Any]:
        """Numbers and arrays, by the names that the model gives them."""
        found = self._unpacked(f"data/data/{posterior['data_name']}.json.zip")
        return {name: np.asarray(value, dtype=float) for name, value in found.items()}

    def draws(self, posterior: dict[str, Any]) -> dict[str, np.ndarray]:
        """Of every parameter: chains in rows."""
        chains = self._unpacked(f"reference_posteriors/draws/draws/{posterior['reference_posterior_name']}.json.zip")
        return {name: np.array([chain[name] for chain in chains]) for name in chains[0]}

    def _unpacked(self, name: str) -> Any:
        with zipfile.ZipFile(io.BytesIO(self._read(name))) as packed:
            return json.loads(packed.read(packed.namelist()[0]))

    def _read(self, name: str) -> bytes:
        folder = self._folder()
        if folder is None:
            return self._git("show", f"HEAD:{_FOLDER}/{name}")
        if not (folder / name).is_file():
            raise NotThere(f"{folder / name}")
        return (folder / name).read_bytes()

    def _names(self, below: str) -> list[str]:
        folder = self._folder()
        if folder is not None:
            return [file.name for file in (folder / below).iterdir()]
        listed = self._git("ls-tree", "--name-only", f"HEAD:{_FOLDER}/{below}")
        return listed.decode().splitlines()

    def _folder(self) -> Path | None:
        """Where files lie; None: in the commits of a bare repository."""
        for folder in (self.path, self.path / _FOLDER):
            if (folder / "posteriors").is_dir():
                return folder
        return None

    def _git(self, *words: str) -> bytes:
        done = subprocess.run(["git", f"--git-dir={self.path}", *words], capture_output=True, check=False)
        if done.returncode:
            raise NotThere(f"{self.path}: {done.stderr.decode().strip()}")
        return done.stdout
