"""How far a posterior is from Laplace's approximation, as a value and in words: whether that is accurate enough.

It comes from `tunamh.sampling.laplace_measure` and lives in the attributes of a result.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np

WIDEST = 0.1
"""Up to here Laplace's approximation will do: a bound, a shift in standard deviations, a ratio of them less 1."""

_CERTAIN = 3.0  # Monte Carlo errors, beyond which a number is off and no accident


@dataclass(frozen=True, eq=False)
class LaplaceDistance:
    """How far Laplace's approximation is from the posterior, measured with draws from the posterior.

    All arrays have one number for each parameter.

    Attributes
    ----------
    names : list of str
        The parameters.
    total_variation : float or None
        An upper bound of the total variation distance, two Monte Carlo errors included; None if it was not measured.
    shift, shift_error : arrays
        The posterior mean minus the mean of the approximation, divided by the posterior standard deviation, and its
        Monte Carlo error.
    ratio, ratio_error : arrays
        The posterior standard deviation divided by the standard deviation of the approximation, and its Monte Carlo
        error.
    """

    names: list[str]
    total_variation: float | None
    shift: np.ndarray
    shift_error: np.ndarray
    ratio: np.ndarray
    ratio_error: np.ndarray

    _PREFIX = "laplace_"
    _BY_NAME = ("mean_shift", "mean_shift_error", "sd_ratio", "sd_ratio_error")

    def attributes(self) -> dict[str, Any]:
        """Return the distance as a dict of attributes, which results contain. Numbers by parameter are JSON texts."""
        values = (self.shift, self.shift_error, self.ratio, self.ratio_error)
        found: dict[str, Any] = {
            self._PREFIX + key: json.dumps({n: float(f"{v:.4g}") for n, v in zip(self.names, by_name, strict=True)})
            for key, by_name in zip(self._BY_NAME, values, strict=True)
        }
        if self.total_variation is not None:
            found[self._PREFIX + "total_variation_bound"] = self.total_variation
        return found

    @classmethod
    def from_attributes(cls, attributes: Any) -> LaplaceDistance | None:
        """Return the distance that `attributes` has written; None if the attributes have none."""
        if any(cls._PREFIX + key not in attributes for key in cls._BY_NAME):
            return None
        by_name = [json.loads(attributes[cls._PREFIX + key]) for key in cls._BY_NAME]
        bound = attributes.get(cls._PREFIX + "total_variation_bound")
        values = (np.array(list(found.values())) for found in by_name)
        return cls(list(by_name[0]), None if bound is None else float(bound), *values)

    @property
    def off(self) -> list[str]:
        """Return a list of sentences: which errors of the approximation are too large, beyond Monte Carlo error.

        They name the parameter with the worst mean and the parameter with the worst standard deviation.
        """
        said = []
        beyond = np.abs(self.shift) - _CERTAIN * self.shift_error
        if beyond.max() > WIDEST:
            j = int(beyond.argmax())
            side = "above" if self.shift[j] > 0 else "below"
            said.append(
                f"the mean of {self.names[j]} is {abs(self.shift[j]):.2f} posterior standard deviations {side} "
                f"Laplace's (Monte Carlo error {self.shift_error[j]:.2g})"
            )
        beyond = np.abs(self.ratio - 1.0) - _CERTAIN * self.ratio_error
        if beyond.max() > WIDEST:
            j = int(beyond.argmax())
            said.append(
                f"the standard deviation of {self.names[j]} is {self.ratio[j]:.2f} times Laplace's (Monte Carlo error "
                f"{self.ratio_error[j]:.2g})"
            )
        return said

    @property
    def complaint(self) -> str | None:
        """Return a warning for users of the approximation, or None."""
        said, bound = self.off, self.total_variation
        if bound is not None and bound > WIDEST:
            said = [f"its total variation distance from the posterior may be as large as {_bound(bound)}", *said]
        return "; ".join(said) if said else None

    @property
    def line(self) -> str:
        """Return one line about the approximation, for its users."""
        return f"Laplace's approximation: {self._numbers}. {self.verdict}"

    @property
    def beside_draws(self) -> str:
        """Return one line for a summary of exact draws. It judges the approximation, not the draws."""
        if not self.off:
            return self.line
        return (
            "These draws are exact. Laplace's approximation, which needs no sampling, would not be accurate enough "
            f"here: {self._numbers}."
        )

    @property
    def _numbers(self) -> str:
        j = int(np.abs(self.shift).argmax())
        bound = self.total_variation
        near = "" if bound is None else f"total variation distance at most {_bound(bound)}; "
        if len(self.names) > 1:
            low, high = f"{self.ratio.min():.2f}", f"{self.ratio.max():.2f}"
            spread = f"standard deviations are {low if low == high else f'{low} to {high}'} times Laplace's"
            mean = f"the mean of {self.names[j]} differs most, by"
        else:
            spread, mean = f"the standard deviation is {self.ratio[0]:.2f} times Laplace's", "the mean differs by"
        return (
            f"{near}{mean} {abs(self.shift[j]):.2f} posterior standard deviations "
            f"(Monte Carlo error {self.shift_error[j]:.2f}); {spread}"
        )

    @property
    def verdict(self) -> str:
        if self.off:
            return "It is not accurate enough here."
        if 2.0 * max(self.shift_error.max(), self.ratio_error.max()) > WIDEST:
            return "More draws are needed to see whether it is accurate enough."
        if self.total_variation is None or self.total_variation > WIDEST:
            return "It is accurate enough for means and standard deviations."
        return "It is accurate enough here."


def _bound(value: float) -> str:
    """Rounded up, so that it stays one."""
    return f"{np.ceil(100 * value - 1e-9) / 100:.2f}" if value > 0.01 else "0.01"
