"""Values that look like codes for missing values."""

import numpy as np
import pytest

from tunamh.tables.codes import likely_codes

RATINGS = np.tile(np.arange(1.0, 11.0), 30)


@pytest.mark.parametrize(
    ("codes", "told"),
    [
        ([99.0] * 7, "99 (in 7 rows) is far from the others (1 to 10): a code for a missing value?"),
        ([98.0, 99.0], "98 and 99 (in 2 rows) are far"),
        ([-999.0], "-999 (in 1 row) is far"),
        ([-99.0] * 3 + [-88.0], "-99 and -88 (in 4 rows) are far from the others (1 to 10)"),
    ],
)
def test_codes_are_told(codes, told):
    found = likely_codes(np.concatenate([RATINGS, codes]))
    assert found is not None
    assert found.startswith(told)


@pytest.mark.parametrize(
    "values",
    [
        RATINGS,
        np.append(RATINGS, 57.0),  # far, and no code
        np.append(RATINGS, 15.0),
        np.arange(200.0),  # 99 is one of many
        np.random.default_rng(1).lognormal(3, 2, 5000),
        np.array([0.0, 1.0, 1.0, 99.0])[:3],
        np.full(10, 99.0),
        np.append(RATINGS, [99.0] * 300),  # half of the rows
        np.append(RATINGS, np.nan),
    ],
)
def test_other_values_are_not(values):
    assert likely_codes(values) is None
