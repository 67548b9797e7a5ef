"""Where the numbers of `.move_jointly` lie in its flat vector."""

from __future__ import annotations

from ..compiled.layouts import NUMBER, WHOLE, Layout, int32

JOINT = Layout(
    "Joint",
    tries=WHOLE,  # moves in a step
    p=WHOLE,
    n=WHOLE,  # common parameters and log scales, as a state begins with them
    factors=WHOLE,
    n_rows=WHOLE,
    n_effects=WHOLE,  # of all factors
    n_pairs=WHOLE,
    n_places=WHOLE,
    wider=NUMBER,  # than the draws that the law was learned from: of proposals, their standard deviations
    order=("factors",),  # the factors, that with most groups first
    first=("factors",),  # where the effects of each begin among all effects
    groups=("factors",),
    middle=("n",),
    root=("n", "n"),  # of the covariance, lower triangular
    root_inverse=("n", "n"),
    weight=("n_rows",),  # w
    response=("n_rows",),  # z
    overlap=("n_pairs", "n_rows"),  # of a row's group, the share of w that it has in common with a later factor's group
    place=int32("n_places"),  # of a row's effect among all effects, factor by factor in the order
)

joint_at = JOINT.reader()
