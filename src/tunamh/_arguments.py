"""Arguments as the public constructors want them: plain numbers, or an error that names the argument."""

from __future__ import annotations

import difflib
import inspect
import math
import operator
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from typing import Any, ParamSpec, TypeVar, cast

import numpy as np
from numpy.random.bit_generator import ISpawnableSeedSequence

LARGEST_COUNT = 10**15

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def shown(value: Any) -> str:
    """Return a short text for a value in an error. The text has the type if this is not clear from the value."""
    if isinstance(value, type):
        return f"the class {value.__name__}"
    shape = getattr(value, "shape", ())
    if isinstance(shape, tuple) and len(shape) > 0:
        return f"a {type(value).__name__} of shape {tuple(value.shape)}"
    value = value.item() if isinstance(value, np.generic) else value
    text, kind = repr(value), type(value).__name__
    text = text if len(text) <= 60 and "\n" not in text else f"{text.splitlines()[0][:57]}..."
    plain = value is None or isinstance(value, bool | int | float) or text.startswith(kind)
    return text if plain else f"{text} ({kind})"


def number(name: str, value: Any) -> float:
    """Return a float that is not NaN. Raise `TypeError` for text, flags and lists."""
    if value is None or isinstance(value, bool | np.bool_ | str | bytes | type) or np.ndim(value) != 0:
        raise TypeError(f"{name} must be a number, got {shown(value)}.")
    try:
        plain = float(value)
    except OverflowError:
        raise ValueError(f"{name} is a number too large to compute with: {shown(value)}.") from None
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be a number, got {shown(value)}.") from None
    if math.isnan(plain):
        raise ValueError(f"{name} must be a number, got {shown(value)}.")
    return plain


def positive_number(name: str, value: Any, *, infinite: bool = False) -> float:
    """Return a positive float. It must be finite unless ``infinite`` is True."""
    plain = number(name, value)
    if not (plain > 0 and (infinite or math.isfinite(plain))):
        raise ValueError(f"{name} must be positive{'' if infinite else ' and finite'}, got {shown(value)}.")
    return plain


def moderate_number(name: str, value: Any, low: float = 1e-50, high: float = 1e50) -> float:
    """Return a positive float, so far from overflow that powers of it can be computed."""
    plain = positive_number(name, value)
    if not low <= plain <= high:
        raise ValueError(
            f"{name} must lie between {low:g} and {high:g}, got {shown(value)}: measure the data in other units."
        )
    return plain


def not_negative(name: str, value: Any, *, infinite: bool = True) -> float:
    plain = number(name, value)
    if not (plain >= 0 and (infinite or math.isfinite(plain))):
        raise ValueError(f"{name} must not be negative{'' if infinite else ' or infinite'}, got {shown(value)}.")
    return plain


def number_between(name: str, value: Any, low: float, high: float, *, ends: str = "") -> float:
    """Return a float between two numbers. ``ends`` says which of them are allowed: "low", "high", "both" or ""."""
    plain = number(name, value)
    above = plain >= low if ends in ("low", "both") else plain > low
    below = plain <= high if ends in ("high", "both") else plain < high
    if not (above and below):
        borders = {"": "both excluded", "both": "both included"}.get(
            ends, f"{high if ends == 'high' else low:g} included"
        )
        raise ValueError(f"{name} must lie between {low:g} and {high:g} ({borders}), got {shown(value)}.")
    return plain


def whole_number(name: str, value: Any, least: int) -> int:
    """Return a plain int. Also 2.0 and NumPy's integers are accepted."""
    plain = value
    if not isinstance(value, bool | np.bool_ | str | bytes):
        try:
            plain = operator.index(value)
        except TypeError:
            if isinstance(value, float | np.floating) and math.isfinite(value) and value == int(value):
                plain = int(value)
            elif isinstance(value, float | np.floating):
                raise ValueError(f"{name} must be a whole number, got {shown(value)}.") from None
    if isinstance(plain, bool) or not isinstance(plain, int):
        raise TypeError(f"{name} must be a whole number, got {shown(value)}.")
    if plain < least:
        raise ValueError(f"{name} must be a whole number of at least {least}, got {shown(value)}.")
    if plain > LARGEST_COUNT:
        raise ValueError(f"{name} must be at most {LARGEST_COUNT:g}, got {shown(value)}.")
    return plain


def flag(name: str, value: Any) -> bool:
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be True or False, got {shown(value)}.")
    return bool(value)


def numbers(name: str, value: Any) -> np.ndarray:
    """Return a float64 array of finite numbers, of any shape."""
    unordered = isinstance(value, dict | set | frozenset | str | bytes)
    try:
        array = None if value is None or unordered else np.asarray(value)
        if array is None or array.dtype.kind not in "iufO" or (array.dtype.kind == "O" and array.ndim == 0):
            raise TypeError
        array = array.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        raise TypeError(f"{name} must hold numbers only, got {shown(value)}.") from None
    if not np.isfinite(array).all():
        where = tuple(int(k) for k in np.argwhere(~np.isfinite(array))[0])
        at = f" at position {where}" if where else ""
        raise ValueError(f"{name} has {array[where]}{at}; every value must be finite.")
    return array


def parameters(name: str, value: Any, dim: int) -> np.ndarray:
    """Return an array of ``dim`` numbers: a point of the parameter space."""
    point = numbers(name, value)
    if point.shape != (dim,):
        raise ValueError(f"{name} must be {dim} numbers, one per parameter, got shape {point.shape}.")
    return point


def seed_sequence(name: str, rng: Any) -> np.random.SeedSequence:
    """Return the seed sequence from which all random numbers of a run come."""
    wanted = f"{name} must be a seed (a whole number that is not negative), a numpy SeedSequence or a Generator"
    if isinstance(rng, bool | np.bool_):
        raise TypeError(f"{wanted}, got {shown(rng)}.")
    try:
        sequence: Any = np.random.default_rng(rng).bit_generator.seed_seq
    except (TypeError, ValueError):
        kind = ValueError if isinstance(rng, int | np.integer) else TypeError
        raise kind(f"{wanted}, got {shown(rng)}.") from None
    if isinstance(sequence, ISpawnableSeedSequence):
        return cast(np.random.SeedSequence, sequence)
    raise TypeError(f"{wanted} that was made from one, got {shown(rng)}.")


def settle(value: Any, **fields: Any) -> None:
    """Set checked fields of a frozen dataclass while it is being made."""
    for name, checked in fields.items():
        object.__setattr__(value, name, checked)


# ----------------------------------------------------------------------------------------- arguments by another name

_HERE: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("seed", "random_state", "random_seed", "rng_key"), ("rng=",)),
    **dict.fromkeys(("warmup", "num_warmup", "iter_warmup", "n_tune", "burnin", "burn_in"), ("tune=",)),
    **dict.fromkeys(("iter", "num_samples", "n_samples", "iter_sampling", "ndraws", "n_draws", "samples"), ("draws=",)),
    **dict.fromkeys(("num_chains", "n_chains", "nchains"), ("chains=",)),
    **dict.fromkeys(("n_jobs", "parallel_chains", "num_cores"), ("cores=",)),
    **dict.fromkeys(("inits", "initvals", "init_params", "start"), ("init=",)),
    **dict.fromkeys(("progress_bar", "progress", "verbose"), ("progressbar=",)),
    **dict.fromkeys(("re_formula", "re_form"), ("include_group_specific= (False where others write NA)",)),
    **dict.fromkeys(("allow_new_levels", "sample_new_groups", "allow_new_re"), ('new_levels="draw"',)),
    **dict.fromkeys(("newdata", "data"), ("new_data=",)),
    **dict.fromkeys(("probs", "ci_prob"), ("quantiles=", "ci_prob=")),
    **dict.fromkeys(("prob", "hdi_prob", "interval", "level", "conf_level"), ("ci_prob=", "level=", "quantiles=")),
    **dict.fromkeys(("grpvar", "factor", "groups", "which"), ("group=",)),
    **dict.fromkeys(("type",), ("kind=",)),
    **dict.fromkeys(("at", "datagrid"), ("conditional=",)),
    **dict.fromkeys(("by",), ("average_by=",)),
    **dict.fromkeys(("variables",), ("contrast=", "wrt=", "conditional=")),
    **dict.fromkeys(("priors",), ("prior=",)),
    **dict.fromkeys(("sigma", "sd", "std", "s"), ("scale=", "sds=")),
    **dict.fromkeys(("nu", "dof"), ("df=",)),
    **dict.fromkeys(("mu", "loc", "location"), ("mean=",)),
    **dict.fromkeys(("alpha", "theta", "phi", "kappa"), ("dispersion=", "precision=", "shape=")),
}
"""Arguments of Stan, brms, PyMC, Bambi, NumPyro, lme4 and scikit-learn, and what says the same here."""

_IN_THE_FORMULA = {
    "offset": "offset(log(x))",
    "random": "(1 | group)",
    "groups": "(1 | group)",
    "group": "(1 | group)",
    "strata": "strata(x)",
    "entry": "Surv(entry, time, event)",
}
"""Arguments of other functions that are a part of the formula here."""


_RARELY_GIVEN = ("test", "proposal", "control", "kernel")
"""An error for too many arguments names others as examples."""


_OF_A_RESULT = "posterior", "results"
_NEEDED = {
    "data": "the table that the model was fitted to. A result does not contain its rows",
    "new_data": "a table with the columns of the model, such as new rows. A result does not contain its rows",
}
"""Arguments that functions of a result need, and what they are."""


def explained(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Decorate a function or ``__init__`` so that wrong arguments raise a helpful TypeError.

    If the user passes the name of an argument of another library, too many or too few arguments, the error names the
    arguments of tunamh.
    """
    signature = inspect.signature(function)
    called = function.__qualname__.removesuffix(".__init__")
    own = [name for name in signature.parameters if name != "self"]
    skipped = len(signature.parameters) - len(own)
    by_position = [name for name in own if signature.parameters[name].kind is not inspect.Parameter.KEYWORD_ONLY]
    needed = [name for name in by_position if signature.parameters[name].default is inspect.Parameter.empty]

    @wraps(function)
    def checked(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        refuse_unknown(called, kwargs, own)
        if len(args) - skipped > len(by_position):
            listed = f"{called}({', '.join(by_position)})"
            taken = f"{len(by_position)} argument{'s' * (len(by_position) != 1)} by position"
            others = [name for name in own if name not in by_position]
            named = [f"{name}=" for name in sorted(others, key=_RARELY_GIVEN.__contains__)][:2]
            more = f" Name the others, such as {' and '.join(named)}." if named else ""
            raise TypeError(f"{listed} takes {taken}, got {len(args) - skipped}.{more}")
        missing = [name for name in needed[len(args) - skipped :] if name in _NEEDED and name not in kwargs]
        if missing and needed[0] in _OF_A_RESULT:
            raise TypeError(f"{called}({', '.join(needed)}) needs {missing[0]}, {_NEEDED[missing[0]]}.")
        return function(*args, **kwargs)

    return checked


def explain_constructors(kinds: Mapping[str, type]) -> None:
    """Apply `explained` to the constructors of classes."""
    for kind in kinds.values():
        if "__init__" in vars(kind) and not hasattr(vars(kind)["__init__"], "__wrapped__"):
            setattr(kind, "__init__", explained(vars(kind)["__init__"]))  # noqa: B010 as mypy allows no assignment


def is_meant(word: str, known: Iterable[str], cutoff: float = 0.6) -> str:
    """Return a question for an error, with a space before it: is the most similar known word meant?

    The text is empty if no known word is similar.
    """
    of = {one.casefold(): one for one in known}
    near = difflib.get_close_matches(word.casefold(), list(of), 1, cutoff=cutoff)
    return f" Is {of[near[0]]} meant?" if near else ""


def refuse_unknown(called: str, named: Iterable[str], known: Iterable[str]) -> None:
    """Raise the TypeError of `explained`, for a function that passes its arguments to another function."""
    own = list(known)
    for name in named:
        if name not in own:
            raise TypeError(_another_name(called, name, own))


def _another_name(called: str, name: str, own: list[str]) -> str:
    for here in _HERE.get(name, ()):
        if here.partition("=")[0] in own:
            return f"{called} has no argument {name}=. Here it is {here}."
    if "formula" in own and name in _IN_THE_FORMULA:
        return f"{called} has no argument {name}=. Write {_IN_THE_FORMULA[name]} in the formula."
    near = difflib.get_close_matches(name, own, 1, cutoff=0.7)
    if near:
        return f"{called} has no argument {name}=. Is {near[0]}= meant?"
    told = f"Its arguments are {', '.join(own)}." if own else "It takes no arguments."
    return f"{called} has no argument {name}=. {told}"
