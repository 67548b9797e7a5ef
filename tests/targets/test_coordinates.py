"""Coordinates of unknown parameters: a family may bring some of its own."""

import numpy as np
import pytest

import tunamh
from tunamh.extend import helper
from tunamh.targets.coordinates.closed_form_prior import closed_form
from tunamh.targets.coordinates.shared import Logarithm, fill_log


@helper
def fill_half_log(theta, natural, numbers):
    """The last parameter is ``e^(2 t)``, the Jacobian ``2 e^(2 t)``."""
    value = fill_log(theta, natural, numbers)
    natural[theta.size - 1] = natural[theta.size - 1] ** 2
    return 2 * value + np.log(2.0)


class HalfLogarithm(Logarithm):
    fill = staticmethod(fill_half_log)

    def to_user(self, points):
        return np.concatenate([points[..., :-1], np.exp(2 * points[..., -1:])], axis=-1)

    def to_chain(self, point):
        return np.append(point[:-1], 0.5 * np.log(point[-1]))


@pytest.mark.parametrize("prior", [tunamh.Normal(scale=2.0), tunamh.Normal(covariance=[[2.0, 0.5], [0.5, 1.0]])])
def test_new_coordinates_need_no_entry_elsewhere(prior):
    """The same density of the parameter in both coordinates, up to the Jacobian of one in the other."""
    start, law = np.array([0.1, -0.2, 1.5]), tunamh.priors.Gamma(2.0, 3.0).law()
    densities = []
    for kind in (Logarithm, HalfLogarithm):
        form = kind(2)
        ready = closed_form(form, prior.bind(2), [law], start)
        found = [ready.log_prior(form.to_chain(point), ready.hyper) for point in (start, np.array([0.5, 0.3, 4.0]))]
        densities.append(np.diff(found)[0] - np.diff(np.log([1.5, 4.0]))[0])
    assert densities[0] == pytest.approx(densities[1])
