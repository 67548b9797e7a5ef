"""A user's energy as compiled code calls it: over the rows of a block, and as a difference of two energies."""

from __future__ import annotations

from typing import Any

from ...compiled import FamilyEnergy, FamilyRise, Part, compile_now, part
from .energy_arguments import Arguments
from .function_copies import FunctionCopies


def compiled_parts(copies: FunctionCopies, arguments: Arguments) -> tuple[Part, Part]:
    from ...compiled import scipy_overloads as _scipy_overloads  # noqa: F401  # teaches Numba scipy.special

    try:
        energy, rise = _parts(copies.compiled, arguments)
        return compile_now(energy, arguments.call), compile_now(rise, arguments.call)
    except TypeError:
        raise
    except Exception as error:  # Numba has no error of its own for all that it cannot do
        raise TypeError(f"{arguments.call} does not compile: {type(error).__name__} in Numba, {error}") from error


_LOOPS = """
def energy(n, eta, y, hyper, out):
    m = eta.size // {seen}
    for b in range(n):
        out[b] = f({here})

def rise(n, eta, eta_prop, y, hyper, out):
    m = eta.size // {seen}
    for b in range(n):
        out[b] = f({there}) - f({here})
"""


def _parts(f: Any, arguments: Arguments) -> tuple[Part, Part]:
    """Numba knows no calls with as many arguments as a number says, so that loops are written for each number."""
    seen = len(arguments.predictors) + len(arguments.known)
    here = ", ".join("y[b]" if k == seen else f"eta[{k} * m + b]" for k in arguments.places)
    scope: dict[str, Any] = {"f": f, "__name__": __name__}
    exec(_LOOPS.format(seen=seen, here=here, there=here.replace("eta[", "eta_prop[")), scope)
    return part(FamilyEnergy, cache=False)(scope["energy"]), part(FamilyRise, cache=False)(scope["rise"])
