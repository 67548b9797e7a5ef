"""Numbers that look like codes for missing values: 99 or -999, few and far from all others."""

from __future__ import annotations

import numpy as np

_DIGITS = "789"
_MOST_CODES = 3  # of one column, on one side
_LARGEST_SHARE = 0.3  # of the rows


def likely_codes(values: np.ndarray) -> str | None:
    """Return in words the values that are far from the others and look like codes; None if there are none.

    A code consists of one repeated digit, 7, 8 or 9, such as -9, 99 or 888, and is farther from the other values than
    these are from each other. Two codes may be neighbours, such as 98 and 99.
    """
    distinct, counts = np.unique(values[np.isfinite(values)], return_counts=True)
    for end in (1, -1):  # codes above, and below
        ordered, rows = end * distinct[::end], counts[::end]
        for some in range(1, min(_MOST_CODES, len(ordered) - 2) + 1):
            others, far = ordered[:-some], end * ordered[-some:]
            gap = ordered[-some] - others[-1]
            few = rows[-some:].sum() <= _LARGEST_SHARE * rows.sum()
            if few and gap > others[-1] - others[0] and any(_is_code(value) for value in far.tolist()):
                return _told(np.sort(far), int(rows[-some:].sum()), end * others)
    return None


def _is_code(value: float) -> bool:
    text = f"{abs(value):.0f}"
    return value == round(value) and len(set(text)) == 1 and text[0] in _DIGITS


def _told(far: np.ndarray, rows: int, others: np.ndarray) -> str:
    values = " and ".join(f"{value:g}" for value in far)
    where = f"in {rows:,} row{'s' * (rows != 1)}"
    verb = "is" if len(far) == 1 else "are"
    return (
        f"{values} ({where}) {verb} far from the others ({others.min():g} to {others.max():g}): a code for a missing "
        "value? Make such values missing"
    )
