"""What a block of rows says when a user's own functions speak for one row: compiled around them, kept by them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..compiled import Differences, Distance, Energies, Part, compile_now, helper, part, read_only
from ..compiled.layouts import FLAG, NUMBER, WHOLE, Layout
from .layouts import OWN, centre_of, order_of, row_and_bound_at

NUMBERS = Layout("Energy", temper=NUMBER, width=WHOLE, euclidean=FLAG)
"""The target's own: temper, the width of the user's row, which c follows, and whether distances are Euclidean."""

_numbers_at = NUMBERS.reader()


def block_parts(energy: Callable) -> tuple[Part, Part, Part]:
    """Return compiled functions of a user's energy that work on blocks of rows.

    If the user's code raises an exception, the energy is NaN. Then Python raises an error later.
    """

    @part(Energies, cache=False)
    def energies(theta, index, n, data, out):
        own = _numbers_at(data.hyper, OWN)
        temper, width = own.temper, own.width
        for b in range(n):
            try:
                out[b] = temper * energy(read_only(theta), row_and_bound_at(data.rows, index[b], width).numbers)
            except Exception:
                out[b] = np.nan

    @part(Energies, cache=False)
    def scales(theta, index, n, data, out):
        """Write ``1 + |U_i| + c_i |theta|`` for each row: the size by which rounding errors of the energy are measured.

        The last term is there because a change of theta in its last digits is rounding, too.
        """
        own = _numbers_at(data.hyper, OWN)
        temper, width, flat = own.temper, own.width, own.euclidean
        length = 0.0
        if flat:
            for j in range(theta.size):
                length += abs(theta[j])
        for b in range(n):
            try:
                out[b] = temper * (
                    1.0 + abs(energy(read_only(theta), row_and_bound_at(data.rows, index[b], width).numbers))
                )
            except Exception:
                out[b] = np.nan
            if length > 0.0:
                out[b] += length * row_and_bound_at(data.rows, index[b], width).bound

    @part(Differences, cache=False)
    def differences(theta, prop, index, start, n, data, rise, bound):
        own = _numbers_at(data.hyper, OWN)
        temper, width = own.temper, own.width
        for b in range(n):
            packed = row_and_bound_at(data.rows, index[start + b], width)
            row = packed.numbers
            try:
                rise[b] = temper * (energy(read_only(prop), row) - energy(read_only(theta), row))
            except Exception:
                rise[b] = np.nan
            bound[b] = packed.bound

    compile_now(energies, "energy(theta, row)")
    return differences, energies, scales


def distance_part(distance: Callable) -> Part:
    @part(Distance, cache=False)
    def measure(theta, prop, hyper):
        try:
            return float(distance(read_only(theta), read_only(prop)))
        except Exception:
            return np.nan

    return compile_now(measure, "distance(theta, prop)")


@helper
def no_hessian(theta, row, out):
    pass


def sums_of(energy: Callable, gradient: Callable, hessian: Callable) -> Callable:
    """Return a compiled function for the sums over all rows of the energy, the gradient and the Hessian."""

    @helper(cache=False)
    def sums(theta, rows, width, total_gradient, total_hessian):
        g, h = np.zeros(theta.size), np.zeros((theta.size, theta.size))
        total = 0.0
        for i in range(rows.shape[0]):
            row = rows[i, :width]
            total += energy(read_only(theta), row)
            g[:], h[:] = 0.0, 0.0  # what the user does not write would else be the row before
            gradient(read_only(theta), row, g)
            hessian(read_only(theta), row, h)
            total_gradient += g
            total_hessian += h
        return total

    return sums


def taylor_parts(energy: Callable, gradient: Callable, hessian: Callable) -> tuple[Part, Part, Part]:
    """Return compiled functions for the remainders ``U_i(theta) - U_i(t) - g_i.u - u'H_i u / 2``, row after row."""

    @helper(cache=False)
    def derive(centre, row, second, g, h):
        g[:] = 0.0  # what the user does not write would else be the row before
        gradient(read_only(centre), row, g)
        if second:
            h[:] = 0.0
            hessian(read_only(centre), row, h)

    @helper(cache=False)
    def remainder(theta, centre, row, second, g, h):
        value = energy(read_only(theta), row) - energy(read_only(centre), row)
        derive(centre, row, second, g, h)
        for j in range(theta.size):
            pull = g[j]
            if second:
                for k in range(theta.size):
                    pull += 0.5 * h[j, k] * (theta[k] - centre[k])
            value -= pull * (theta[j] - centre[j])
        return value

    @helper(cache=False)
    def size(theta, centre, row, second, g, h):
        """Return the size of the terms that cancel in the remainder."""
        total = 1.0 + abs(energy(read_only(theta), row)) + abs(energy(read_only(centre), row))
        derive(centre, row, second, g, h)
        for j in range(theta.size):
            pull = abs(g[j])
            if second:
                for k in range(theta.size):
                    pull += 0.5 * abs(h[j, k] * (theta[k] - centre[k]))
            total += pull * abs(theta[j] - centre[j])
        return total

    def over_rows(of_row: Callable) -> Part:
        @part(Energies, cache=False)
        def each(theta, index, n, data, out):
            d, own = theta.size, _numbers_at(data.hyper, OWN)
            temper, width = own.temper, own.width
            second, centre = order_of(data.hyper) > 1.0, centre_of(data.hyper, d).copy()
            g, h = np.zeros(d), np.zeros((d, d))
            for b in range(n):
                try:
                    row = row_and_bound_at(data.rows, index[b], width).numbers
                    out[b] = temper * of_row(theta, centre, row, second, g, h)
                except Exception:
                    out[b] = np.nan

        return each

    @part(Differences, cache=False)
    def differences(theta, prop, index, start, n, data, rise, bound):
        d, own = theta.size, _numbers_at(data.hyper, OWN)
        temper, width = own.temper, own.width
        second, centre = order_of(data.hyper) > 1.0, centre_of(data.hyper, d).copy()
        g, h = np.zeros(d), np.zeros((d, d))
        for b in range(n):
            packed = row_and_bound_at(data.rows, index[start + b], width)
            row, bound[b] = packed.numbers, packed.bound
            try:
                after = remainder(prop, centre, row, second, g, h)
                rise[b] = temper * (after - remainder(theta, centre, row, second, g, h))
            except Exception:
                rise[b] = np.nan

    return differences, over_rows(remainder), over_rows(size)
