"""Decisions of groups by themselves, each on its own rows, all groups' rows read together (spec 5q)."""

from __future__ import annotations

import math

import numpy as np

from .._jit import BLOCK, NO_FAULT, helper
from ..acceptance.grouped import GAMMA, IN_ORDER, Seen, _draw_in, _hold, whole_group
from ..acceptance.thinned import rate


@helper
def _add_rows(n, at, whose, uniform, distance, theta, prop, beta, table, model, work, log_ratios):
    """What ``n`` drawn rows say, each for its own group: the largest ``|x_i|``, and a row at fault."""
    for b in range(n):
        work.index[b] = int(table.order[at[b]])
    model.differences(theta, prop, work.index, 0, n, model.data, work.rise, work.bound)
    for b in range(n):
        work.bound[b] = table.bounds[at[b]]
    worst, fault = _hold(theta, prop, model, work, distance, n)
    if fault == NO_FAULT:
        for b in range(n):
            forward = rate(work.rise[b], beta, GAMMA)
            if uniform[b] * beta < forward:
                log_ratios[whose[b]] += math.log(rate(-work.rise[b], beta, GAMMA) / forward)
    return worst, fault


@helper
def each_group(rng, theta, prop, log_ratios, batches, distances, beta, table, model, work):
    """Add to ``log_ratios[g]`` what the rows of group ``g`` say, ``batches[g]`` of them, for groups that decide apart.

    ``prop`` has moved in all groups. A row sees its own group's move alone, so that rows of many groups can be read in
    one block: a call for every group would cost several times as much.
    """
    at, whose = np.empty(BLOCK, np.int64), np.empty(BLOCK, np.int64)
    uniform, distance = np.empty(BLOCK), np.empty(BLOCK)
    n, rows, worst = 0, 0, 0.0
    for g in range(batches.size):
        if batches[g] == IN_ORDER:
            seen = whole_group(theta, prop, g, table, distances[g], model, work)
            if seen.fault != NO_FAULT:
                return Seen(0.0, rows, worst, seen.fault)
            log_ratios[g] -= seen.log_ratio
            rows += seen.rows
            worst = max(worst, seen.worst)
            continue
        for _ in range(batches[g]):
            at[n] = _draw_in(rng, g, table)
            whose[n], uniform[n], distance[n] = g, rng.random(), distances[g]
            n += 1
            if n == BLOCK:
                larger, fault = _add_rows(
                    n, at, whose, uniform, distance, theta, prop, beta, table, model, work, log_ratios
                )
                if fault != NO_FAULT:
                    return Seen(0.0, rows, worst, fault)
                rows, worst, n = rows + n, max(worst, larger), 0
    larger, fault = _add_rows(n, at, whose, uniform, distance, theta, prop, beta, table, model, work, log_ratios)
    return Seen(0.0, rows + n, max(worst, larger), fault)
