"""What a sweep reads of a model, with some of it changed: for laws and bounds that set-up would not make."""

import numpy as np

from tunamh.groups.layout import COMMON, FACTOR


def changed(model, change, **facts):
    """``change`` gets the numbers of each factor, by the names of their fields, and writes into them."""
    numbers = model._hyper.copy()
    at = int(numbers[0])
    for start in COMMON.views(numbers, at).factor_start:
        change(FACTOR.views(numbers, at + int(start)))
    numbers.flags.writeable = False
    return model._with(_hyper=numbers, laplace_centre=model.centre, learned=None, **facts)


def widened(numbers, p, law, scales):
    """The Gaussian law of all, or of log scales alone, so many times as wide."""
    numbers.root[:] *= law
    numbers.root[p:] *= scales
    numbers.root_inverse[:] = np.linalg.inv(numbers.root)
