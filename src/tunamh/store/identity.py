"""What a run must find again to go on with the same draws, and the reason where it does not.

Descriptions tell another target, test or proposal by name, the fingerprint tells other data. What neither sees, such as
a changed function of the user's, a prior's numbers, another processor or version that rounds otherwise, shows in the
steps themselves: the first ones of chain 0 are made again and must come out bit for bit.
"""

from __future__ import annotations

import hashlib
import platform
import re
from pathlib import Path

import numpy as np

from .._version import DRAWS, __version__
from ..chains.loop import ChainSetup, advance
from ..chains.state import RunState
from .errors import StoreError

_STEPS = 10
_ROWS_ENOUGH = 1e6  # of the data, after which fewer steps will do


def described(part: object) -> str:
    """Return the description of a part without addresses of functions, because these differ in every process."""
    return re.sub(r" at 0x[0-9a-fA-F]+", "", part if isinstance(part, str) else repr(part))


def first_steps(state: RunState, setup: ChainSetup) -> str:
    """Return a hash of the first steps of a chain.

    ``state`` is the state of a chain that was just opened; the function does not change it. If the hash differs from
    the stored one, the run cannot continue with the same draws.
    """
    copy = RunState.from_arrays(state.to_arrays())
    chain, in_force = copy.chain, copy.in_force(setup)
    draws, record, rows = np.empty((1, chain.here.size)), setup.new_record(1), 0.0
    digest = hashlib.blake2b(digest_size=16)
    for _ in range(_STEPS):
        advance(chain, in_force, draws, record)
        for array in (chain.here, chain.there, record):
            digest.update(array.tobytes())
        rows += setup.statistics.rows(record)[0]
        if rows > _ROWS_ENOUGH:
            break
    return digest.hexdigest()


def machine() -> str:
    """Return the versions and the processor in words. The last digits of results depend on them."""
    import numba
    from llvmlite.binding import get_host_cpu_name

    versions = f"numpy {np.__version__}, numba {numba.__version__}, Python {platform.python_version()}"
    return f"tunamh {__version__}, {versions}, {platform.machine()} {get_host_cpu_name()}"


def identity_of(given: object, data: str, target: str, kernel: dict[str, str], steps: str) -> dict[str, str]:
    """Return what the header of a store must contain to identify a run.

    ``given`` is the user's target. ``target`` describes the target with its control variate. ``kernel`` describes a
    kernel, or a test and a proposal.
    """
    return {
        "draws": DRAWS,
        "target as given": described(given),
        "data": data,
        "target": described(target),
        **{name: described(text) for name, text in kernel.items()},
        "first steps": steps,
        "machine": machine(),
    }


def refuse_another(path: Path, then: dict[str, str], now: dict[str, str]) -> None:
    """Raise `StoreError` if a fact of this run differs from the fact in the header of the store at ``path``.

    ``then`` are the facts in the header, and ``now`` those known of this run, such as a description of the target. The
    function can be called with few facts early, and with all facts later.
    """

    def differ(key: str) -> bool:
        return key in now and then.get(key) != now[key]

    if differ("draws"):
        raise StoreError(
            f"the run in {path} was made with {then.get('machine', 'another version')}. Since then, the draws for a "
            f"fixed seed have changed (the run has the draws of version {then.get('draws')}; this is version "
            f"{now['draws']}), so resume would join two different runs. Resume it with the old version, or start a "
            f"new run.",
            path,
        )
    if differ("target as given"):
        raise _another(path, "target", then["target as given"], now["target as given"])
    if differ("data"):
        raise StoreError(
            f"the run in {path} has other data: their fingerprint was {then.get('data')}, this target's is "
            f"{now['data']}. Pass a target of the same rows, in the same order and with the same numbers (for "
            f"open_rows, with the same memory=), or start a new run.",
            path,
        )
    for what in ("test", "proposal", "kernel", "target"):
        if differ(what):
            raise _another(path, what, then.get(what, "unknown"), now[what])
    if differ("first steps"):
        raise StoreError(
            f"the run in {path} cannot continue with the same draws here: its first steps, made again, give other "
            f"results. Possible reasons: a function or a number of the target, test, proposal or control has "
            f"changed; the last digits of sums differ on this machine; open_rows has another memory=. The run was "
            f"made with {then.get('machine')}; this is {now.get('machine')}. Use the same choices on such a machine, "
            f"or start a new run.",
            path,
        )


def _another(path: Path, what: str, then: str, now: str) -> StoreError:
    told = "Pass resume the same test=, proposal=, kernel= and control= as sample"
    if what == "target":
        told = "Make the same target, and pass the same control="
    return StoreError(f"the run in {path} has another {what}: {then}; now it is {now}. {told}.", path)
