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

from .machinery import intrinsic
from .windows import data_of, kind_of_view, make_view

WHOLE, NUMBER, FLAG = "whole number", "number", "flag"

Field = str | tuple[str | int, ...]


class Narrow(tuple):
    """The extent of a vector of 32-bit numbers, two in the place of one."""

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


def _evaluated(tree: ast.expr, sizes: dict[str, Any], arithmetic: Any) -> Any:
    match tree:
        case ast.Name(id=name):
            return sizes[name]
        case ast.Constant(value=int(value)):
            return arithmetic.constant(value)
        case ast.BinOp(left=left, op=op, right=right):
            sides = _evaluated(left, sizes, arithmetic), _evaluated(right, sizes, arithmetic)
            return getattr(arithmetic, type(op).__name__)(*sides)
    raise ValueError(f"an extent is made of names, whole numbers, +, -, * and //, not of {ast.unparse(tree)}")


class _Python:
    """Extents in plain numbers."""

    constant = staticmethod(int)

    @staticmethod
    def Add(a: int, b: int) -> int:
        return a + b

    @staticmethod
    def Sub(a: int, b: int) -> int:
        return a - b

    @staticmethod
    def Mult(a: int, b: int) -> int:
        return a * b

    @staticmethod
    def FloorDiv(a: int, b: int) -> int:
        return a // b


class _Machine:
    """Extents in machine code; none is negative, so that division rounds down."""

    def __init__(self, context: Any, builder: Any):
        self.constant = lambda value: context.get_constant(types.intp, value)
        self.Add, self.Sub, self.Mult, self.FloorDiv = builder.add, builder.sub, builder.mul, builder.sdiv


@cache
def _how_records_are_read() -> str:
    """Compiled code that reads a record holds the machine code of these two files, and mentions neither."""
    files = Path(__file__), Path(__file__).with_name("windows.py")
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


class Layout:
    """Where the fields of a record lie; see the module."""

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
        told = repr((name, given, list(fields.items()), _how_records_are_read()))
        self.made_of = hashlib.sha256(told.encode()).hexdigest()[:12]
        """What was declared and how it is read, as a digest: compiled code is kept by it (`.contents`)."""

    def __reduce__(self) -> Any:
        return _declared_again, (self.name, self.given, self.fields)

    def __repr__(self) -> str:
        return f"Layout({self.name}, {self.made_of})"

    # --------------------------------------------------------------------------------------------------- in Python

    def shapes(self, **sizes: int) -> dict[str, tuple[int, ...]]:
        """The shape of every array, given all extents."""
        return {
            name: tuple(_evaluated(_tree(extent), sizes, _Python) for extent in kind)
            for name, kind in self.fields.items()
            if isinstance(kind, tuple)
        }

    def lengths(self, **sizes: int) -> dict[str, int]:
        """How many numbers every field takes, given all extents."""
        shapes, found = self.shapes(**sizes), {}
        for name, kind in self.fields.items():
            length = int(np.prod(shapes.get(name, ()), dtype=np.int64))
            found[name] = (length + 1) // 2 if isinstance(kind, Narrow) else length
        return found

    def places(self, **sizes: int) -> SimpleNamespace:
        """Where every field begins in a record, given all extents; ``end`` is how long it is."""
        lengths = self.lengths(**sizes)
        ends = np.cumsum([0, *lengths.values()]).tolist()
        return SimpleNamespace(**dict(zip(lengths, ends, strict=False)), end=ends[-1])

    def pack(self, **values: Any) -> np.ndarray:
        """The record as a vector. Extents that an array has by itself need not be told."""
        arrays = {name: np.asarray(values[name]) for name in self.fields if name in values}
        sizes = {name: int(values[name]) if name in values else self._seen(name, arrays) for name in self.sizes}
        unknown, absent = values.keys() - {*self.fields, *self.given}, self.fields.keys() - {*values, *sizes}
        if unknown or absent:
            raise TypeError(f"{self.name} has the fields {', '.join(self.fields)}; wrong are {unknown | absent}")
        shapes = self.shapes(**sizes)
        parts = []
        for name, kind in self.fields.items():
            dtype = kind.dtype if isinstance(kind, Narrow) else np.float64
            array = np.asarray(sizes.get(name, values.get(name)), dtype=dtype)
            if array.shape != shapes.get(name, ()):
                wanted = f"{shapes.get(name, ())}, which is {kind}"
                raise ValueError(f"{name} of {self.name} must have shape {wanted}; got {array.shape}")
            if isinstance(kind, Narrow):
                array = np.append(array, np.zeros(array.size % 2, dtype)).view(np.float64)
            parts.append(array.ravel())
        return np.concatenate(parts) if parts else np.empty(0)

    def _seen(self, size: str, arrays: dict[str, np.ndarray]) -> int:
        """An extent, from an array one axis of which is just that."""
        for name, kind in self.fields.items():
            if isinstance(kind, tuple) and size in kind and name in arrays and arrays[name].ndim == len(kind):
                return arrays[name].shape[kind.index(size)]
        raise TypeError(f"{self.name}: {size} is neither given nor the length of an array")

    def views(self, vector: np.ndarray, start: int = 0, **given: int) -> SimpleNamespace:
        """The record that begins at ``start``: whole numbers, numbers and flags as they are, arrays as views."""
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

    def columns(self, rows: np.ndarray, **sizes: int) -> SimpleNamespace:
        """Of packed rows: every field as a column, or as the columns (n, length) of an array of one axis."""
        shapes, places = self.shapes(**sizes), self.places(**sizes)
        found: dict[str, np.ndarray] = {}
        for name in self.fields:
            at = getattr(places, name)
            found[name] = rows[:, at : at + shapes[name][0]] if name in shapes else rows[:, at]
        return SimpleNamespace(**found)

    # ------------------------------------------------------------------------------------------- in compiled code

    def reader(self) -> Any:
        """``read(vector, start, *given)``, or ``read(rows, i, *given)`` of a matrix: the record, for compiled code."""
        return _readers[len(self.given)](self)

    def begin(self, context: Any, builder: Any, kind: Record, data: Any, given: Any) -> Any:
        """The struct of the record at the address ``data``."""
        record = cgutils.create_struct_proxy(kind)(context, builder)
        record.data = data
        sizes = dict(zip(self.given, given, strict=True))
        for name in self.whole:
            place = context.get_constant(types.intp, self.fixed[name])
            sizes[name] = builder.fptosi(builder.load(builder.gep(data, [place])), context.get_value_type(types.intp))
        for name, size in sizes.items():
            setattr(record, f"size_{name}", size)
        at = None
        machine = _Machine(context, builder)
        for name, field in self.fields.items():
            if name not in self.fixed:
                setattr(record, f"at_{name}", at)
            elif isinstance(field, tuple):
                at = machine.constant(self.fixed[name])
            if at is not None:
                length = machine.constant(1)
                for extent in self.shape(name, sizes, machine):
                    length = builder.mul(length, extent)
                if isinstance(field, Narrow):
                    length = builder.sdiv(builder.add(length, machine.constant(1)), machine.constant(2))
                at = builder.add(at, length)
        record.end = machine.constant(len(self.fields)) if at is None else at
        return record._getvalue()

    def shape(self, name: str, sizes: dict[str, Any], arithmetic: Any) -> list:
        field = self.fields[name]
        return [_evaluated(_tree(extent), sizes, arithmetic) for extent in field] if isinstance(field, tuple) else []


def _declared_again(name: str, given: tuple[str, ...], fields: dict[str, Field]) -> Layout:
    return Layout(name, *given, **fields)


class Record(types.Type):
    """The type of a record in an array of some type. Its name says what was declared: compiled code is kept by it."""

    def __init__(self, layout: Layout, array: Any):
        self.layout, self.array = layout, array.copy(readonly=not array.mutable, ndim=1, layout="C")
        super().__init__(f"Record({layout.name}, {layout.made_of}, {self.array})")


@register_model(Record)
class _RecordModel(models.StructModel):
    def __init__(self, manager: Any, kind: Any):
        layout = kind.layout
        members = [("data", types.CPointer(kind.array.dtype))]
        members += [(f"size_{name}", types.intp) for name in layout.sizes]
        members += [(f"at_{name}", types.intp) for name in layout.fields if name not in layout.fixed]
        members += [("end", types.intp)]
        super().__init__(manager, kind, members)


def _kind_of_field(kind: Any, field: tuple) -> Any:
    """The type of a window on an array of a record."""
    array = kind.array
    if isinstance(field, Narrow):
        array = array.copy(dtype=numba.from_dtype(np.dtype(field.dtype)))
    return kind_of_view(array, len(field))


@infer_getattr
class _RecordFields(AttributeTemplate):
    key = Record

    def generic_resolve(self, kind: Any, name: str) -> Any:
        if name in (*kind.layout.sizes, "end"):
            return types.intp
        field = kind.layout.fields.get(name)
        if isinstance(field, tuple):
            return _kind_of_field(kind, field)
        return {NUMBER: kind.array.dtype, FLAG: types.boolean}.get(field)


@lower_getattr_generic(Record)
def _field(context: Any, builder: Any, kind: Any, value: Any, name: str) -> Any:
    layout = kind.layout
    record = cgutils.create_struct_proxy(kind)(context, builder, value=value)
    if name in layout.sizes:
        return getattr(record, f"size_{name}")
    if name == "end":
        return record.end
    at = getattr(record, f"at_{name}") if name not in layout.fixed else None
    place = context.get_constant(types.intp, layout.fixed[name]) if at is None else at
    address, field = builder.gep(record.data, [place]), layout.fields[name]
    if isinstance(field, tuple):
        sizes = {size: getattr(record, f"size_{size}") for size in layout.sizes}
        shape, view = layout.shape(name, sizes, _Machine(context, builder)), _kind_of_field(kind, field)
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
        return layout.begin(context, builder, signature.return_type, data, given)

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
