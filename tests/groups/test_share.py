"""The coordinate of a share: one to one, with the slope that its proposal ratio needs."""

import math

import numpy as np
import pytest

from tunamh.groups.share import into_share, out_of_share, share_about


@pytest.mark.parametrize("centre", [-3.0, -0.4, 2.5])
@pytest.mark.parametrize("variance", [0.02, 0.5, 1e4])
def test_there_and_back(centre, variance):
    own = share_about(1, centre, variance)
    for z in (-20.0, -3.0, 0.0, 1.0, 6.0):
        point = np.array([7.0, z])
        slope = into_share(own, point)
        left, right = np.array([7.0, z - 1e-5]), np.array([7.0, z + 1e-5])
        into_share(own, left)
        into_share(own, right)
        assert (right[1] - left[1]) / 2e-5 == pytest.approx(math.exp(slope), rel=1e-3, abs=1e-9)
        assert out_of_share(own, point) == pytest.approx(slope, abs=1e-6)
        assert point == pytest.approx([7.0, z], abs=1e-5)


def test_what_is_no_share_or_too_far_off_is_said():
    own = share_about(0, -2.0, 0.2)
    assert math.isnan(into_share(own, np.array([-40.0])))
    assert math.isnan(out_of_share(own, np.array([own.centre - own.middle / own.slope - 1e-9])))
    assert math.isnan(out_of_share(own, np.array([own.centre + (1.0 - own.middle) / own.slope + 1e-9])))
