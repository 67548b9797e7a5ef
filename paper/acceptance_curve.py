"""Figure 1c: acceptance of TFMH and TunaMH on a walk with ``x_i = +-M/N`` in equal numbers, where MH accepts always.

Closed forms (the rows attain their bounds, ``C M = M``): TFMH accepts with ``exp(-M/2)``; TunaMH with
``E min(1, (1 + 1/(chi M))^(n+ - n-))``, ``n+ ~ Poisson(chi M^2 / 2)``, ``n- ~ Poisson((chi M^2 + M) / 2)``.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import tunamh
from tunamh import FactorizedMH, TunaMH, theory

from . import settings
from .runs import Report, fixed_run


def tfmh(M: float) -> float:
    return math.exp(-M / 2)


def tunamh_acceptance(M: float, chi: float) -> float:
    """Closed form: half of the rows rise by their bound, half fall by it."""
    rise = np.array([M / 2, -M / 2])
    return theory.thinned_acceptance(0.0, rise, np.abs(rise), beta=1 + chi * M, gamma=0.5)


def simulated(M: float, test: Any, draws: int) -> float:
    """The walk stays in place half of the time, which counts as accepted: ``a = 2 mean - 1``."""
    x = np.repeat([-M, M], settings.CURVE_ROWS // 2)
    target = tunamh.FiniteWalk(x, states=settings.CURVE_STATES)
    middle = [float(settings.CURVE_STATES // 2)]
    run = fixed_run(target, test, scale=None, draws=draws, start=middle, seed=settings.SEED)
    return 2 * float(run.acceptance.mean()) - 1


def measure(draws: int, report: Report) -> dict[str, Any]:
    result: dict[str, Any] = {"M": list(settings.CURVE_M), "draws": draws, "methods": {}}
    ways = [("TFMH", None), *((f"TunaMH, chi = {chi:g}", chi) for chi in settings.CURVE_CHI)]
    for k, (name, chi) in enumerate(ways):
        report(k / len(ways), f"acceptance, {name}")
        test = FactorizedMH(truncation=math.inf) if chi is None else TunaMH(chi=chi, full_share=math.inf)
        closed = [tfmh(M) if chi is None else tunamh_acceptance(M, chi) for M in settings.CURVE_M]
        # large batches need no more draws than their cost allows
        batch = [M if chi is None else theory.expected_batch(chi, M) for M in settings.CURVE_M]
        counts = [int(min(draws, max(draws / 20, 50 * draws / b))) for b in batch]
        measured = [simulated(M, test, n) for M, n in zip(settings.CURVE_M, counts, strict=True)]
        result["methods"][name] = {"chi": chi, "closed_form": closed, "simulated": measured, "steps": counts}
    return result
