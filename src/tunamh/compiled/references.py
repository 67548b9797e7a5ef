"""Bundles by their address, and parts by theirs: what a part of a kernel's own hands to another.

A bundle of thirty arrays that crosses a pointer by value is copied, and its arrays are counted up and down. By its
address nothing is, and what a part does not read of it costs nothing. The caller keeps the arrays alive.
"""

from __future__ import annotations

from typing import Any

from numba import types
from numba.core import cgutils

from .machinery import intrinsic


@intrinsic
def address_of(typing, bundle):
    """Return the address of a bundle. It is valid until the calling function returns; see also `keep_until_here`."""

    def emit(context, builder, signature, arguments):
        place = cgutils.alloca_once_value(builder, arguments[0])
        return builder.ptrtoint(place, context.get_value_type(types.int64))

    return types.int64(bundle), emit


@intrinsic
def keep_until_here(typing, bundle):
    """Keep the arrays of the bundle alive until this line. Numba frees arrays after their last use."""

    def emit(context, builder, signature, arguments):
        return context.get_dummy_value()

    return types.void(bundle), emit


def bundle_at(kind: Any) -> Any:
    """Return ``read(address)`` for compiled code: it returns the bundle of this type, without reference counters."""

    def load(context, builder, kind, pointer):
        if isinstance(kind, types.BaseTuple):
            bundle = cgutils.get_null_value(context.get_value_type(kind))
            for k, member in enumerate(kind.types):  # type: ignore[attr-defined]
                value = load(context, builder, member, cgutils.gep_inbounds(builder, pointer, 0, k))
                bundle = builder.insert_value(bundle, value, k)
            return bundle
        value = builder.load(pointer)
        if isinstance(kind, types.Array):
            array = cgutils.create_struct_proxy(kind)(context, builder, value=value)
            array.meminfo = cgutils.get_null_value(array.meminfo.type)
            array.parent = cgutils.get_null_value(array.parent.type)
            return array._getvalue()
        return value

    @intrinsic
    def read(typing, address):
        def emit(context, builder, signature, arguments):
            pointer = builder.inttoptr(arguments[0], context.get_value_type(kind).as_pointer())
            return load(context, builder, kind, pointer)

        return kind(types.int64), emit

    return read


def part_at(role: Any) -> Any:
    """Return ``pointer(address)`` for compiled code: it returns the part with this role."""

    @intrinsic
    def pointer(typing, address):
        def emit(context, builder, signature, arguments):
            pointer = cgutils.create_struct_proxy(role)(context, builder)
            pointer.c_addr = builder.inttoptr(arguments[0], cgutils.voidptr_t)
            pointer.py_addr = cgutils.get_null_value(pointer.py_addr.type)
            pointer.jit_addr = cgutils.get_null_value(pointer.jit_addr.type)
            return pointer._getvalue()

        return role(types.int64), emit

    return pointer
