"""The shape of the code: how many rooms it has, how they lie above each other, and how many a row goes through.

    python benchmarks/shape.py [--src src/tunamh] [--json FILE] [--verbose] [--static]

``--src`` may be the package of another checkout. All figures but those of rows come from syntax trees and file names,
so that they do not depend on what modules are called.

Modules, packages
    Files and folders directly in the package. ``__init__.py``, ``__main__.py`` count as modules.
Layers
    Of the `layers` contract of import-linter in the nearest pyproject.toml above the package. A layer is a single file
    where it names one module only, and that module is one file. Top-level modules that no layer names are counted.
getattr, hasattr
    Calls of these two by name, per 1,000 lines.
Index arithmetic
    Subscripts of a flat vector, ``NAME[...]`` or ``anything.NAME[...]`` with NAME one of `VECTORS`, whose index has an
    addition or subtraction in it (also in an element of a tuple, or in an end of a slice), one operand of which is a
    whole number, or both of which are made of names, dotted names, numbers and products of these. A subscript counts
    once. ``hyper[t + 74]``, ``hyper[factor.mode + g * q + a]`` and ``rows[i, y + 4]`` count; ``hyper[_HEAD]``,
    ``rows[i, 2 * k]`` and ``rows[start : start + len(y)]`` do not. Windows are calls ``window(NAME, ...)`` and
    ``matrix_window(NAME, ...)`` with the same arithmetic in an argument; they are counted apart. Files that declare
    layouts (`layout.py`, `layouts.py`, everything in a folder `compiled`) are left out.
Arguments
    Functions with more than 8: positional and keyword-only ones, ``self`` and ``cls`` apart; ``*args`` and ``**kwargs``
    count one each.
Lengths
    Lines of files as they stand, of functions from ``def`` to the last line, functions inside functions included.
Files that a row crosses
    A target is made, and one chain of two draws is run, in a process of its own. A file counts if one of its functions
    works with the rows on their way from the user's arrays to a decision:
    - a Python function is handed an array or a table with an entry per row, or gets one back from a function that it
      calls, or reads by its name such a member of an argument (of an object, of a tuple). To be handed an object that
      holds rows, and not to look at them (to check a type, to name a target, to count steps), does not count;
    - a compiled function has a parameter of one of the names `ROWS_HELD`: packed rows, a model with them, responses of
      the rows that were drawn.
    Python functions are seen by `sys.setprofile`, in all threads, but for what runs inside an import. Compiled
    functions cannot be seen: those count that Numba compiled or loaded in that process, and those that these call by
    name.
    The `DOORS`, which hold results, messages and the process, do not count.
Files in which anything runs
    In the same process: all files with a function that is called, whatever it is handed. Most of them check arguments,
    choose, compile, count or name.

`tests/test_new_parts.py` shows how many files a new family or prior has to touch; nothing here measures that.
"""

from __future__ import annotations

import argparse
import ast
import gc
import json
import os
import subprocess
import sys
import tempfile
import threading
import tomllib
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

HERE = Path(__file__).parent
VECTORS = {"hyper", "rows", "row", "knobs", "memory", "numbers", "table", "cursor"}
WINDOWS = {"window", "matrix_window"}
MOST_ARGUMENTS, MOST_LINES = 8, 60

DOORS = {"report", "results", "result", "convergence", "process", "blas", "forks", "interrupts", "notebook", "progress"}
DOORS |= {"errors", "store", "cli"}
"""Files or folders of these names, underscores apart, that rows do not cross."""

ROWS_HELD = {"rows", "data", "model", "y"}
"""Parameters of compiled functions that hold rows, all of them or those that were drawn."""

N_ROWS = 2003
"""Of the problems that are traced: a prime, so that an array of that length is one of rows."""

NEW_PARTS = "tests/test_new_parts.py shows it"

Functions = ast.FunctionDef | ast.AsyncFunctionDef


# ---------------------------------------------------------------------------------------------------- syntax trees


def files_of(package: Path) -> list[Path]:
    return sorted(path for path in package.rglob("*.py") if "__pycache__" not in path.parts)


def _of_names(node: ast.expr) -> bool:
    """Whether an expression is made of names, dotted names, numbers, and sums and products of these."""
    match node:
        case ast.Name() | ast.Constant():
            return True
        case ast.Attribute(value=inner):
            return _of_names(inner)
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() | ast.Mult(), right=right):
            return _of_names(left) and _of_names(right)
        case ast.UnaryOp(operand=inner):
            return _of_names(inner)
    return False


def _whole_number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is int


def has_arithmetic(index: ast.expr) -> bool:
    """The rule of index arithmetic, of one index expression."""
    for node in ast.walk(index):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
            sides = node.left, node.right
            if any(map(_whole_number, sides)) or all(map(_of_names, sides)):
                return True
    return False


def _name(node: ast.expr) -> str:
    """The last part of a name or a dotted name."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(attr=name):
            return name
    return ""


def declares_layouts(path: Path, package: Path) -> bool:
    inside = path.relative_to(package)
    return inside.name in ("layout.py", "layouts.py") or "compiled" in inside.parts[:-1]


def arguments_of(function: Functions) -> int:
    given = function.args
    names = [one.arg for one in (*given.posonlyargs, *given.args)]
    own = 1 if names and names[0] in ("self", "cls") else 0
    return len(names) - own + len(given.kwonlyargs) + (given.vararg is not None) + (given.kwarg is not None)


class Counts:
    """What one file adds to the figures."""

    def __init__(self, path: Path, package: Path):
        text = path.read_text()
        self.name, self.lines = str(path.relative_to(package)), len(text.splitlines())
        self.probes, self.indices, self.windows = 0, [], []
        self.lengths: list[int] = []
        self.long: list[tuple[str, int]] = []
        self.many: list[tuple[str, int]] = []
        layouts = declares_layouts(path, package)
        for node in ast.walk(ast.parse(text, str(path))):
            match node:
                case ast.FunctionDef() | ast.AsyncFunctionDef():
                    self._function(node)
                case ast.Call(func=ast.Name(id="getattr" | "hasattr")):
                    self.probes += 1
                case ast.Call(func=called, args=[vector, *more]) if _name(called) in WINDOWS and not layouts:
                    if _name(vector) in VECTORS and any(map(has_arithmetic, more)):
                        self.windows.append(node.lineno)
                case ast.Subscript(value=vector, slice=index) if _name(vector) in VECTORS and not layouts:
                    if has_arithmetic(index):
                        self.indices.append(node.lineno)

    def _function(self, node: Functions) -> None:
        length, arguments = (node.end_lineno or node.lineno) - node.lineno + 1, arguments_of(node)
        self.lengths.append(length)
        if length > MOST_LINES:
            self.long.append((f"{self.name}: {node.name}", length))
        if arguments > MOST_ARGUMENTS:
            self.many.append((f"{self.name}: {node.name}", arguments))


# ---------------------------------------------------------------------------------------------------------- layers


def settings_above(package: Path) -> dict[str, Any]:
    for folder in package.resolve().parents:
        if (folder / "pyproject.toml").exists():
            return tomllib.loads((folder / "pyproject.toml").read_text())
    return {}


def layers_of(package: Path) -> dict[str, Any] | None:
    """None where there is no contract of layers."""
    contracts = settings_above(package).get("tool", {}).get("importlinter", {}).get("contracts", [])
    found = next((one for one in contracts if one.get("type") == "layers"), None)
    if found is None:
        return None
    layers = [
        [name.strip("() ").removeprefix(f"{package.name}.") for name in layer.replace(":", "|").split("|")]
        for layer in found["layers"]
    ]
    single = [layer[0] for layer in layers if len(layer) == 1 and (package / f"{layer[0]}.py").exists()]
    named = {name for layer in layers for name in layer} | {"__init__", "__main__"}
    return {
        "layers": len(layers),
        "exhaustive": bool(found.get("exhaustive", False)),
        "layers_of_one_file": len(single),
        "single_files": single,
        "in_no_layer": sorted({*modules_in(package), *packages_in(package)} - named),
    }


def modules_in(package: Path) -> list[str]:
    return sorted(path.stem for path in package.glob("*.py"))


def packages_in(package: Path) -> list[str]:
    return sorted(path.parent.name for path in package.glob("*/__init__.py"))


def static_figures(package: Path) -> dict[str, Any]:
    counts = [Counts(path, package) for path in files_of(package)]
    lengths = [length for one in counts for length in one.lengths]
    lines, probes = sum(one.lines for one in counts), sum(one.probes for one in counts)
    indices = {one.name: one.indices for one in counts if one.indices}
    windows = {one.name: one.windows for one in counts if one.windows}
    many = sorted((pair for one in counts for pair in one.many), key=lambda pair: -pair[1])
    return {
        "modules": len(modules_in(package)),
        "packages": len(packages_in(package)),
        "layers": layers_of(package),
        "probes": probes,
        "probes_per_1000_lines": round(1000 * probes / lines, 2),
        "index_arithmetic": sum(map(len, indices.values())),
        "index_arithmetic_files": len(indices),
        "windows_with_arithmetic": sum(map(len, windows.values())),
        "functions_of_many_arguments": len(many),
        "most_arguments": many[0][1] if many else None,
        "lines": lines,
        "files": len(counts),
        "functions": len(lengths),
        "median_function": median(lengths),
        "functions_above_60": sum(length > MOST_LINES for length in lengths),
        "share_above_60": round(sum(length > MOST_LINES for length in lengths) / len(lengths), 5),
        "median_file": median(one.lines for one in counts),
        "files_above_250": sum(one.lines > 250 for one in counts),
        "details": {
            "index_arithmetic": [f"{name} {len(where)}" for name, where in indices.items()],
            "many_arguments": [f"{name} {n}" for name, n in many],
            "long_functions": [f"{name} {n}" for one in counts for name, n in one.long],
        },
    }


# --------------------------------------------------------------------------------------------- files a row crosses


def _logistic(tunamh: Any, X: Any, y: Any, groups: Any, folder: Path) -> Any:
    return tunamh.LogisticRegression(X, y)


def _mixed(tunamh: Any, X: Any, y: Any, groups: Any, folder: Path) -> Any:
    return tunamh.MixedModel(X, y, tunamh.Logistic(), groups)


def _parquet(tunamh: Any, X: Any, y: Any, groups: Any, folder: Path) -> Any:
    tables = tunamh.open_rows(str(folder / "rows.parquet"))
    return tunamh.LogisticRegression(tables[["a", "b"]], y="y")


PROBLEMS: dict[str, Callable[..., Any]] = {"logistic": _logistic, "mixed": _mixed, "parquet": _parquet}


def _has_rows(value: Any) -> bool:
    """Whether a value is an array, a matrix or a table with as many rows as the problem."""
    known = type(value).__module__.partition(".")[0] in ("numpy", "scipy", "pyarrow")
    shape = getattr(value, "shape", ()) if known else ()
    return isinstance(shape, tuple) and N_ROWS in shape


def _members_named(value: Any, names: tuple[str, ...]) -> list[Any]:
    """The members of a tuple or a list, and those attributes of an object that a function's code names."""
    if isinstance(value, tuple | list):
        return list(value[:50])
    own = {} if isinstance(value, type) else getattr(value, "__dict__", {})
    return [own[name] for name in names if name in own]


class Tracer:
    """Files of a package in which a Python function is called, but for what runs inside an import.

    ``holding`` are those of them with a function that works with the rows.
    """

    def __init__(self, package: Path):
        self._prefix, self.files, self.holding = f"{package}{os.sep}", set(), set()

    def __call__(self, frame: Any, event: str, argument: Any) -> None:
        name = frame.f_code.co_filename
        if event == "return" and frame.f_back is not None and _has_rows(argument):
            self._found({name, frame.f_back.f_code.co_filename}, frame)
        if event == "call" and name.startswith(self._prefix) and name not in self.holding and not _in_import(frame):
            self.files.add(name)
            if self._works_with_rows(frame):
                self.holding.add(name)

    def _found(self, names: set[str], frame: Any) -> None:
        new = {name for name in names - self.holding if name.startswith(self._prefix)}
        if new and not _in_import(frame):
            self.holding |= new

    def _works_with_rows(self, frame: Any) -> bool:
        code = frame.f_code
        count = code.co_argcount + code.co_kwonlyargcount
        given = [frame.f_locals.get(name) for name in code.co_varnames[:count]]
        return any(_has_rows(one) or any(map(_has_rows, _members_named(one, code.co_names))) for one in given)


def _in_import(frame: Any) -> bool:
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False


def _called_by_name(function: Any) -> Iterator[Any]:
    """The compiled functions that a plain function names, also as members of modules; parts are seen through."""
    code, space = function.__code__, function.__globals__
    closure = [cell.cell_contents for cell in function.__closure__ or ()]
    for value in (*(space.get(name) for name in code.co_names), *closure):
        value = getattr(value, "dispatcher", value)
        if hasattr(value, "py_func"):
            yield value


def compiled_files(package: Path) -> dict[str, bool]:
    """Files of the compiled functions in use, and whether one of these has a parameter that holds rows.

    They are the functions with machine code, and all that these call by name.
    """
    from numba.core.dispatcher import Dispatcher

    found = {one for one in gc.get_objects() if isinstance(one, Dispatcher) and one.overloads}
    waiting = list(found)
    while waiting:
        for one in _called_by_name(waiting.pop().py_func):
            if one not in found:
                found.add(one)
                waiting.append(one)
    files: dict[str, bool] = {}
    for code in (one.py_func.__code__ for one in found):
        if code.co_filename.startswith(f"{package}{os.sep}"):
            held = ROWS_HELD & set(code.co_varnames[: code.co_argcount])
            files[code.co_filename] = files.get(code.co_filename, False) or bool(held)
    return files


def trace(problem: str, package: Path, folder: Path) -> dict[str, list[str]]:
    """In this process, which has not run anything else; ``folder`` is for files."""
    import numpy as np

    rng = np.random.default_rng(0)
    X, groups = rng.standard_normal((N_ROWS, 2)), rng.integers(20, size=N_ROWS)
    y = (rng.random(N_ROWS) < 1 / (1 + np.exp(-X[:, 0]))).astype(float)
    if problem == "parquet":
        import pyarrow as pa
        import pyarrow.parquet as pq

        pq.write_table(pa.table({"a": X[:, 0], "b": X[:, 1], "y": y}), folder / "rows.parquet")
    import tunamh

    used = Path(tunamh.__file__).resolve().parent
    assert used == package, f"the package that was imported is {used}"
    tracer = Tracer(package)
    threading.setprofile(tracer)
    sys.setprofile(tracer)
    try:
        target = PROBLEMS[problem](tunamh, X, y, groups, folder)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tunamh.sample(target, draws=2, tune=20, chains=1, rng=1, progressbar=False)
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    compiled = compiled_files(package)
    with_rows = {file for file, holds in compiled.items() if holds}
    found = {"python": tracer.files, "compiled": {*compiled}, "crossed": tracer.holding | with_rows}
    return {name: sorted(str(Path(file).relative_to(package)) for file in files) for name, files in found.items()}


def is_door(file: str) -> bool:
    return any(part.removesuffix(".py").strip("_") in DOORS for part in Path(file).parts)


def crossed(problem: str, package: Path) -> dict[str, Any]:
    """`trace` in a process of its own, without the doors."""
    environment = {**os.environ, "PYTHONPATH": str(package.parent)}
    command = [sys.executable, str(Path(__file__).resolve()), "--src", str(package), "--trace", problem]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        return {"files": None, "why": (done.stderr.strip().splitlines() or ["no message"])[-1]}
    seen = json.loads(done.stdout.splitlines()[-1])
    python, compiled, rows = (
        {file for file in seen[name] if not is_door(file)} for name in ("python", "compiled", "crossed")
    )
    return {
        "files": len(rows),
        "python": len(rows & python),
        "compiled": len(rows & compiled),
        "running": len(python | compiled),
        "doors": sum(map(is_door, {*seen["python"], *seen["compiled"]})),
        "list": sorted(rows),
        "running_list": sorted(python | compiled),
    }


# ----------------------------------------------------------------------------------------------------------- table


def _layers_shown(layers: dict[str, Any] | None) -> Iterator[tuple[str, str]]:
    if layers is None:
        yield "import layers", "no contract"
        return
    yield "import layers", f"{layers['layers']}, {'' if layers['exhaustive'] else 'not '}exhaustive"
    yield "  of one single file", f"{layers['layers_of_one_file']}"
    yield "  modules and packages in no layer", f"{len(layers['in_no_layer'])}"


def shown(figures: dict[str, Any]) -> Iterator[tuple[str, str]]:
    yield "top-level modules", f"{figures['modules']}"
    yield "top-level packages", f"{figures['packages']}"
    yield from _layers_shown(figures["layers"])
    yield "getattr and hasattr calls per 1,000 lines", f"{figures['probes_per_1000_lines']} ({figures['probes']})"
    where = f"in {figures['index_arithmetic_files']} files"
    yield "index arithmetic outside layouts", f"{figures['index_arithmetic']} {where}"
    yield "  windows with arithmetic", f"{figures['windows_with_arithmetic']}"
    most = figures["most_arguments"] or MOST_ARGUMENTS
    yield "functions with more than 8 arguments", f"{figures['functions_of_many_arguments']}, at most {most}"
    yield "lines, files", f"{figures['lines']:,}, {figures['files']}"
    yield "functions, median length", f"{figures['functions']:,}, {figures['median_function']:g}"
    share = f"{100 * figures['share_above_60']:.2f} %"
    yield "functions above 60 lines", f"{share} ({figures['functions_above_60']})"
    yield "median file, files above 250 lines", f"{figures['median_file']:g}, {figures['files_above_250']}"
    for name, found in figures.get("crossed", {}).items():
        if found["files"] is None:
            yield f"files that a row crosses: {name}", f"not measured: {found['why']}"
            continue
        yield f"files that a row crosses: {name}", f"{found['files']} (of {found['running']} in which anything runs)"
    yield "files to touch for a new family or prior", NEW_PARTS


def show_details(figures: dict[str, Any]) -> None:
    layers, crossings = figures["layers"] or {}, figures.get("crossed", {}).items()
    lists = {
        "layers of one single file": layers.get("single_files", []),
        "in no layer": layers.get("in_no_layer", []),
        **{name.replace("_", " "): found for name, found in figures["details"].items()},
        **{f"a row crosses: {name}": found.get("list", []) for name, found in crossings},
        **{f"anything runs: {name}": found.get("running_list", []) for name, found in crossings},
    }
    for title, members in lists.items():
        print(f"\n{title} ({len(members)})")
        for member in members:
            print(f"  {member}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--src", type=Path, default=HERE.parent / "src" / "tunamh", help="the package's folder")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    parser.add_argument("--verbose", action="store_true", help="also which files and functions")
    parser.add_argument("--static", action="store_true", help="do not run anything")
    parser.add_argument("--trace", choices=PROBLEMS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    package = options.src.resolve()
    if options.trace:
        with tempfile.TemporaryDirectory() as folder:
            print(json.dumps(trace(options.trace, package, Path(folder))))
        return
    figures = static_figures(package)
    if not options.static:
        figures["crossed"] = {problem: crossed(problem, package) for problem in PROBLEMS}
    print(f"The shape of {options.src}")
    for name, value in shown(figures):
        print(f"  {name:<46}{value}")
    if options.verbose:
        show_details(figures)
    if options.json:
        options.json.write_text(json.dumps({**figures, "new_parts": NEW_PARTS}, indent=1) + "\n")


if __name__ == "__main__":
    main()
