"""Layouts of flat vectors and of packed rows: what lies where is declared once, and read by name everywhere.

    TREND = Layout("Trend", n=WHOLE, origin=NUMBER, slopes=("n",), covariance=("n", "n"))

says that a record begins with ``n`` and ``origin``, which ``n`` slopes and a matrix follow. From it come

    TREND.pack(origin=0.0, slopes=s, covariance=S)      the flat vector; shapes are checked, errors name the field
    trend_at = TREND.reader()                           for compiled code: trend = trend_at(vector, start)
    trend.origin, trend.slopes[j], trend.covariance     a number, and windows into the vector: nothing is copied
    trend.end                                           how long the record is
    TREND.views(vector, start)                          the same for Python

Fields stand in the order in which they lie. `WHOLE` is a number that extents may be made of (``"n + 1"``,
``"q * (q + 1) // 2"``), `NUMBER` a real one, `FLAG` a truth value; `int32` and `float32` are vectors of numbers of
which two lie in the place of one. Extents that the vector does not hold are ``given``:
they follow the start, ``knobs_at(knobs, 0, d)``. A matrix may take the place of the vector: a record is then a row, and
so packed rows have named columns.

To compiled code a record is an address, its extents, and where its fields begin: plain numbers, which cross calls
without a counter. A window costs an addition; make it before a loop, not inside.
"""

from __future__ import annotations

import ast
import hashlib
import operator
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numba
import numpy as np
from numba import types
from numba.core import cgutils
from numba.core.typing.templates import AttributeTemplate
from numba.extending import infer_getattr, lower_getattr_generic, models, register_model

from ..process.scratch import concatenated
from .machinery import intrinsic
from .windows import data_of, kind_of_view, make_view

WHOLE, NUMBER, FLAG = "whole number", "number", "flag"

Field = str | tuple[str | int, ...]


class Narrow(tuple):
    """The shape of an array of 32-bit numbers; two of them use the space of one number."""

    dtype: type

    def __repr__(self) -> str:
        return f"{self.dtype.__name__}{super().__repr__()}"


class _Int32(Narrow):
    dtype = np.int32


class _Float32(Narrow):
    dtype = np.float32


def int32(extent: str | int) -> Narrow:
    return _Int32((extent,))


def float32(extent: str | int) -> Narrow:
    return _Float32((extent,))


@cache
def _tree(extent: str | int) -> ast.expr:
    """An extent as a syntax tree of names, whole numbers, sums, products and ``//``."""
    return ast.parse(str(extent), mode="eval").body


def _evaluated(tree: ast.expr, sizes: dict[str, Any], constant: Any, operations: dict) -> Any:
    match tree:
        case ast.Name(id=name):
            return sizes[name]
        case ast.Constant(value=int(value)):
            return constant(value)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in operations:
            sides = (_evaluated(side, sizes, constant, operations) for side in (left, right))
            return operations[type(op)](*sides)
    raise ValueError(f"an extent is made of names, whole numbers, +, -, * and //, not of {ast.unparse(tree)}")


_IN_PYTHON = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv}


def _in_machine_code(builder: Any) -> dict:
    """None of the numbers is negative, so that division rounds down."""
    return {ast.Add: builder.add, ast.Sub: builder.sub, ast.Mult: builder.mul, ast.FloorDiv: builder.sdiv}


def _whole(context: Any, value: int) -> Any:
    return context.get_constant(types.intp, value)


@cache
def _how_records_are_read() -> str:
    """Compiled code that reads a record holds the machine code of these two files, and mentions neither."""
    files = Path(__file__), Path(__file__).with_name("windows.py")
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


class Layout:
    """The positions of the fields of a record. The docstring of the module has the details."""

    def __init__(self, name: str, *given: str, **fields: Field):
        self.name, self.given, self.fields = name, given, fields
        self.whole = tuple(one for one, kind in fields.items() if kind == WHOLE)
        self.sizes = (*given, *self.whole)
        arrays = [one for one, kind in fields.items() if isinstance(kind, tuple)]
        first = list(fields).index(arrays[0]) if arrays else len(fields)
        self.fixed = {one: k for k, one in enumerate(fields) if k <= first}
        """Fields whose place is the same in every record: those before the first array, and this one."""
        if "end" in fields:
            raise ValueError(f"{name}: `end` is where a record ends, and no field")
        if any(one not in self.fixed for one in self.whole):
            raise ValueError(f"{name}: whole numbers lie before the first array, whose place else nobody knows")
        for array in arrays:
            for extent in fields[array]:
                names = {node.id for node in ast.walk(_tree(extent)) if isinstance(node, ast.Name)}
                if not names <= set(self.sizes):
                    raise ValueError(f"{name}: an extent of {array} is {extent!r}, of which {self.sizes} are known")
        self._columns: dict[tuple, dict[str, Any]] = {}
        self._places: dict[tuple, SimpleNamespace] = {}
        told = repr((name, given, list(fields.items()), _how_records_are_read()))
        self.made_of = hashlib.sha256(told.encode()).hexdigest()[:12]
        """What was declared and how it is read, as a digest: compiled code is kept by it (`.contents`)."""

    def __reduce__(self) -> Any:
        return _declared_again, (self.name, self.given, self.fields)

    def __repr__(self) -> str:
        return f"Layout({self.name}, {self.made_of})"

    # --------------------------------------------------------------------------------------------------- in Python

    def shapes(self, **sizes: int) -> dict[str, tuple[int, ...]]:
        """Return the shape of every array for given extents."""
        return {
            name: tuple(_evaluated(_tree(extent), sizes, int, _IN_PYTHON) for extent in kind)
            for name, kind in self.fields.items()
            if isinstance(kind, tuple)
        }

    def lengths(self, **sizes: int) -> dict[str, int]:
        """Return the length of every field for given extents."""
        shapes, found = self.shapes(**sizes), {}
        for name, kind in self.fields.items():
            length = int(np.prod(shapes.get(name, ()), dtype=np.int64))
            found[name] = (length + 1) // 2 if isinstance(kind, Narrow) else length
        return found

    def places(self, **sizes: int) -> SimpleNamespace:
        """Return where every field begins in a record for given extents. ``end`` is the length of the record."""
        asked = tuple(sizes.items())
        known = self._places.get(asked)
        if known is None:  # asked for every block of rows
            lengths = self.lengths(**sizes)
            ends = np.cumsum([0, *lengths.values()]).tolist()
            known = SimpleNamespace(**dict(zip(lengths, ends, strict=False)), end=ends[-1])
            self._places[asked] = known
        return known

    def pack(self, **values: Any) -> np.ndarray:
        """Return the record as a vector. Extents that the shape of an array shows need not be passed."""
        arrays = {name: np.asarray(values[name]) for name in self.fields if name in values}
        sizes = {name: int(values[name]) if name in values else self._seen(name, arrays) for name in self.sizes}
        unknown, absent = values.keys() - {*self.fields, *self.given}, self.fields.keys() - {*values, *sizes}
        if unknown or absent:
            raise TypeError(f"{self.name} has the fields {', '.join(self.fields)}; wrong are {unknown | absent}")
        shapes = self.shapes(**sizes)
        parts = []
        for name, kind in self.fields.items():
            dtype = kind.dtype if isinstance(kind, Narrow) else np.float64
            array: np.ndarray = np.asarray(sizes.get(name, values.get(name)), dtype=dtype)
            if array.shape != shapes.get(name, ()):
                wanted = f"{shapes.get(name, ())}, which is {kind}"
                raise ValueError(f"{name} of {self.name} must have shape {wanted}; got {array.shape}")
            if isinstance(kind, Narrow):
                array = np.append(array, np.zeros(array.size % 2, dtype)).view(np.float64)
            parts.append(array.ravel())
        return concatenated(parts) if parts else np.empty(0)

    def _seen(self, size: str, arrays: dict[str, np.ndarray]) -> int:
        """An extent, from an array one axis of which is just that."""
        for name, kind in self.fields.items():
            if isinstance(kind, tuple) and size in kind and name in arrays and arrays[name].ndim == len(kind):
                return arrays[name].shape[kind.index(size)]
        raise TypeError(f"{self.name}: {size} is neither given nor the length of an array")

    def views(self, vector: np.ndarray, start: int = 0, **given: int) -> SimpleNamespace:
        """Return the record that begins at ``start``: numbers and flags as values, arrays as views."""
        sizes = {**given, **{name: int(vector[start + self.fixed[name]]) for name in self.whole}}
        shapes, lengths, at = self.shapes(**sizes), self.lengths(**sizes), start
        found: dict[str, Any] = {**sizes}
        for name, kind in self.fields.items():
            numbers = vector[at : at + lengths[name]]
            at += lengths[name]
            if kind == FLAG:
                found[name] = bool(numbers[0] > 0)
            elif kind == NUMBER:
                found[name] = float(numbers[0])
            elif isinstance(kind, Narrow):
                found[name] = numbers.view(kind.dtype)[: shapes[name][0]]
            elif kind != WHOLE:
                found[name] = numbers.reshape(shapes[name])
        return SimpleNamespace(**found)

    def columns(self, **sizes: int) -> dict[str, Any]:
        """Return the column of every field of packed rows; for an array with one axis, a slice of columns."""
        key = tuple(sizes.items())
        if key not in self._columns:
            shapes, places = self.shapes(**sizes), vars(self.places(**sizes))
            self._columns[key] = {
                name: slice(places[name], places[name] + shapes[name][0]) if name in shapes else places[name]
                for name in self.fields
            }
        return self._columns[key]

    # ------------------------------------------------------------------------------------------- in compiled code

    def reader(self) -> Any:
        """Return a compiled reader of a record: ``read(vector, start, *given)`` or ``read(rows, i, *given)``."""
        return _readers[len(self.given)](self)

    @property
    def members(self) -> tuple[str, ...]:
        """Return the members of a record in compiled code.

        These are its address, its extents, its end, and where those fields begin whose position is not fixed.
        """
        return ("", *self.sizes, "end", *(f"at {name}" for name in self.fields if name not in self.fixed))

    def begin(self, context: Any, builder: Any, data: Any, given: Any) -> list:
        """Return the members of the record at the address ``data``."""
        sizes = dict(zip(self.given, given, strict=True))
        for name in self.whole:
            number = builder.load(builder.gep(data, [_whole(context, self.fixed[name])]))
            sizes[name] = builder.fptosi(number, context.get_value_type(types.intp))
        begins, at = [], _whole(context, 0)
        for name, field in self.fields.items():
            if name not in self.fixed:
                begins.append(at)
            length = _whole(context, 1)
            for extent in self.shape(context, builder, name, sizes):
                length = builder.mul(length, extent)
            if isinstance(field, Narrow):
                length = builder.sdiv(builder.add(length, _whole(context, 1)), _whole(context, 2))
            at = builder.add(at, length)
        return [data, *(sizes[name] for name in self.sizes), at, *begins]

    def shape(self, context: Any, builder: Any, name: str, sizes: dict[str, Any]) -> list:
        """Return the extents of a field in machine code."""
        field, operations = self.fields[name], _in_machine_code(builder)
        extents = field if isinstance(field, tuple) else ()
        return [_evaluated(_tree(one), sizes, lambda value: _whole(context, value), operations) for one in extents]


def _declared_again(name: str, given: tuple[str, ...], fields: dict[str, Field]) -> Layout:
    return Layout(name, *given, **fields)


class Record(types.Type):
    """The Numba type of a record in an array.

    Its name contains the declaration, because compiled code is stored by it.
    """

    def __init__(self, layout: Layout, array: Any):
        self.layout, self.array = layout, array.copy(readonly=not array.mutable, ndim=1, layout="C")
        super().__init__(f"Record({layout.name}, {layout.made_of}, {self.array})")


@register_model(Record)
class _RecordModel(models.StructModel):
    def __init__(self, manager: Any, kind: Any):
        address, *others = kind.layout.members
        whole = [(name, types.intp) for name in others]
        super().__init__(manager, kind, [(address, types.CPointer(kind.array.dtype)), *whole])


def _kind_of_field(kind: Any, field: tuple) -> Any:
    """The type of a window on an array of a record."""
    array = kind.array
    if isinstance(field, Narrow):
        array = array.copy(dtype=numba.from_dtype(np.dtype(field.dtype)))
    return kind_of_view(array, len(field))


@infer_getattr
class _RecordFields(AttributeTemplate):
    key = Record

    def generic_resolve(self, kind: Any, name: str) -> Any:  # type: ignore[override]
        if name in (*kind.layout.sizes, "end"):
            return types.intp
        field = kind.layout.fields.get(name)
        if isinstance(field, tuple):
            return _kind_of_field(kind, field)
        return {NUMBER: kind.array.dtype, FLAG: types.boolean}.get(field)


@lower_getattr_generic(Record)
def _field(context: Any, builder: Any, kind: Any, value: Any, name: str) -> Any:
    layout = kind.layout
    members = {one: builder.extract_value(value, k) for k, one in enumerate(layout.members)}
    if name in members:
        return members[name]
    place = _whole(context, layout.fixed[name]) if name in layout.fixed else members[f"at {name}"]
    address, field = builder.gep(members[""], [place]), layout.fields[name]
    if isinstance(field, tuple):
        shape, view = layout.shape(context, builder, name, members), _kind_of_field(kind, field)
        address = builder.bitcast(address, context.get_data_type(view.dtype).as_pointer())
        return make_view(context, builder, view, address, shape)
    number = builder.load(address)
    return builder.fcmp_ordered(">", number, number.type(0.0)) if field == FLAG else number


def _emit(layout: Layout) -> Any:
    """Machine code of a reader: the record at a place of a vector, or in a row of a matrix."""

    def emit(context, builder, signature, arguments):
        kind, (array, where, *given) = signature.args[0], arguments
        if kind.ndim == 2:
            source = cgutils.create_struct_proxy(kind)(context, builder, value=array)
            columns = cgutils.unpack_tuple(builder, source.shape)[1]
            where = builder.mul(where, columns)
        data = builder.gep(data_of(context, builder, kind, array), [where])
        record = cgutils.get_null_value(context.get_value_type(signature.return_type))
        for k, member in enumerate(layout.begin(context, builder, data, given)):
            record = builder.insert_value(record, member, k)
        return record

    return emit


def _reader_of_none(layout: Layout) -> Any:
    @intrinsic
    def read(typing, array, where):
        return Record(layout, array)(array, types.intp), _emit(layout)

    return read


def _reader_of_one(layout: Layout) -> Any:
    @intrinsic
    def read(typing, array, where, first):
        return Record(layout, array)(array, types.intp, types.intp), _emit(layout)

    return read


def _reader_of_two(layout: Layout) -> Any:
    @intrinsic
    def read(typing, array, where, first, second):
        return Record(layout, array)(array, types.intp, types.intp, types.intp), _emit(layout)

    return read


_readers = (_reader_of_none, _reader_of_one, _reader_of_two)
