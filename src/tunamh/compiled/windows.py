"""Views into flat vectors, without reference counting: what reads a packed vector names its parts by them.

A slice counts its array's users up and down by atomic operations, which costs more than a short loop over it; a window
is a pointer and a size. The vector it looks into must outlive it.
"""

from __future__ import annotations

from numba import types
from numba.core import cgutils

from .machinery import intrinsic


def _view(context, builder, signature, arguments, shape):
    """The array struct of a C-ordered view of ``shape`` that begins at ``arguments[1]``."""
    kind = signature.return_type
    source = cgutils.create_struct_proxy(signature.args[0])(context, builder, value=arguments[0])
    view = cgutils.create_struct_proxy(kind)(context, builder)
    itemsize = context.get_constant(types.intp, context.get_abi_sizeof(context.get_data_type(kind.dtype)))
    strides: list = []
    size, stride = context.get_constant(types.intp, 1), itemsize
    for extent in reversed(shape):
        strides.insert(0, stride)
        stride = builder.mul(stride, extent)
        size = builder.mul(size, extent)
    view.data = builder.gep(source.data, [arguments[1]])
    view.nitems, view.itemsize = size, itemsize
    view.shape = cgutils.pack_array(builder, shape)
    view.strides = cgutils.pack_array(builder, strides)
    view.meminfo = cgutils.get_null_value(view.meminfo.type)
    view.parent = cgutils.get_null_value(view.parent.type)
    return view._getvalue()


@intrinsic
def window(typing, vector, start, size):
    """``vector[start : start + size]``."""
    kind = types.Array(vector.dtype, 1, "C", readonly=not vector.mutable)

    def emit(context, builder, signature, arguments):
        return _view(context, builder, signature, arguments, [arguments[2]])

    return kind(vector, types.intp, types.intp), emit


@intrinsic
def matrix_window(typing, vector, start, rows, columns):
    """``vector[start : start + rows * columns].reshape(rows, columns)``."""
    kind = types.Array(vector.dtype, 2, "C", readonly=not vector.mutable)

    def emit(context, builder, signature, arguments):
        return _view(context, builder, signature, arguments, list(arguments[2:]))

    return kind(vector, types.intp, types.intp, types.intp), emit
