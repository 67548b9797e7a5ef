"""Counts without overdispersion: the data do not bound the dispersion of a negative binomial family from above."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from .layout import PARAMETER, ROLE, TERM

_LARGE = 10.0
_WIDE = 3.0  # the ratio of quantiles 0.95 and 0.5: 1/alpha is less than 2.5 standard deviations from zero


def told_of_dispersion(posterior: Any, worst: set[str]) -> str:
    """Return what a dispersion that mixes badly says about the data, or "" if there is nothing to say.

    With a variance of ``m + m^2 / alpha``, the likelihood hardly depends on ``alpha`` if ``alpha`` is large. Then only
    the prior limits the tail of ``alpha``, and chains rarely visit its end. ``worst`` are the parameters that converged
    worst.
    """
    family = json.loads(posterior.attrs["model"])["family"]
    outer, counts = family["name"], family.get("counts") or family
    if counts["name"] != "NegativeBinomial":
        return ""
    for name, values in posterior.data_vars.items():
        named = name == "dispersion" or (values.attrs.get(ROLE), values.attrs.get(TERM)) == (PARAMETER, "dispersion")
        if named and values.ndim == 2 and name in worst:
            middle, end = np.quantile(values, [0.5, 0.95])
            if middle > _LARGE and end > _WIDE * middle:
                plain = "tunamh.Poisson()" if outer == "NegativeBinomial" else f"tunamh.{outer}(tunamh.Poisson())"
                return (
                    f" The data hardly bound {name} from above (half of its draws are above {middle:,.0f}, one of "
                    f"twenty is above {end:,.0f}): the data show little or no overdispersion. Use family={plain}, "
                    f"which is "
                    f"the limit of large {name}, or compare the two (tunamh.compare)."
                )
    return ""
