"""Views into flat vectors, without reference counting: what reads a packed vector names its parts by them.

A slice counts its array's users up and down by atomic operations, which costs more than a short loop over it; a window
is a pointer and a size. The vector it looks into must outlive it.
"""

from __future__ import annotations

from typing import Any

from numba import types
from numba.core import cgutils

from .machinery import intrinsic


def kind_of_view(array: Any, n_axes: int) -> Any:
    """Return the type of a C-ordered view with this number of axes. It may be written to if the array may."""
    return types.Array(array.dtype, n_axes, "C", readonly=not array.mutable)


def make_view(context: Any, builder: Any, kind: Any, data: Any, shape: list) -> Any:
    """Return the array struct of a C-ordered view of ``shape`` that begins at the address ``data``."""
    view = cgutils.create_struct_proxy(kind)(context, builder)
    itemsize = context.get_constant(types.intp, context.get_abi_sizeof(context.get_data_type(kind.dtype)))
    strides: list = []
    size, stride = context.get_constant(types.intp, 1), itemsize
    for extent in reversed(shape):
        strides.insert(0, stride)
        stride = builder.mul(stride, extent)
        size = builder.mul(size, extent)
    view.data = data
    view.nitems, view.itemsize = size, itemsize
    view.shape = cgutils.pack_array(builder, shape)
    view.strides = cgutils.pack_array(builder, strides)
    view.meminfo = cgutils.get_null_value(view.meminfo.type)
    view.parent = cgutils.get_null_value(view.parent.type)
    return view._getvalue()


def data_of(context: Any, builder: Any, kind: Any, array: Any) -> Any:
    """Return the address at which an array begins."""
    return cgutils.create_struct_proxy(kind)(context, builder, value=array).data


@intrinsic
def window(typing, vector, start, size):
    """Return the view ``vector[start : start + size]``."""
    kind = kind_of_view(vector, 1)

    def emit(context, builder, signature, arguments):
        data = builder.gep(data_of(context, builder, signature.args[0], arguments[0]), [arguments[1]])
        return make_view(context, builder, kind, data, [arguments[2]])

    return kind(vector, types.intp, types.intp), emit


@intrinsic
def matrix_window(typing, vector, start, rows, columns):
    """Return the view ``vector[start : start + rows * columns].reshape(rows, columns)``."""
    kind = kind_of_view(vector, 2)

    def emit(context, builder, signature, arguments):
        data = builder.gep(data_of(context, builder, signature.args[0], arguments[0]), [arguments[1]])
        return make_view(context, builder, kind, data, list(arguments[2:]))

    return kind(vector, types.intp, types.intp, types.intp), emit


@intrinsic
def from_column(typing, rows, first):
    """Return a view of packed rows that begins at a column. Code that reads a row begins there."""

    def emit(context, builder, signature, arguments):
        seen = cgutils.create_struct_proxy(signature.args[0])(context, builder, value=arguments[0])
        seen.data = builder.gep(seen.data, [arguments[1]])
        seen.meminfo = cgutils.get_null_value(seen.meminfo.type)
        seen.parent = cgutils.get_null_value(seen.parent.type)
        return seen._getvalue()

    return rows(rows, types.intp), emit


@intrinsic
def flat(typing, array):
    """Return the view ``array.ravel()`` of a C-ordered array.

    If all axes except one have length 1, the compiler can then see that the numbers are side by side.
    """
    kind = kind_of_view(array, 1)

    def emit(context, builder, signature, arguments):
        source = cgutils.create_struct_proxy(signature.args[0])(context, builder, value=arguments[0])
        return make_view(context, builder, kind, source.data, [source.nitems])

    return kind(array), emit
