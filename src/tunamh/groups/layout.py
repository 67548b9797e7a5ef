"""Where the numbers of grouped rows lie in a target's flat vector.

A state is ``(beta, lambda, v)``: the ``p`` common parameters, the coordinates of all factors' covariances and, behind
them, unknown scales of the common parameters' prior, and the effects of all groups of all factors, one factor behind
the other, group by group.

Sums over a group's rows at the centre, with ``z`` a row's columns of effects and ``x`` those of the common parameters:
``gradient = sum f' z``, ``curvature = sum f'' z z'``, ``cross = sum f'' z x'``, ``thirds = sum f''' z z z``,
``cross_thirds = sum f''' z z x'``, ``fourths`` likewise, used where there is one effect. What has a number for every
common parameter has the groups last: loops over all groups are then long and vectorised.
"""

from __future__ import annotations

import numpy as np

from ..compiled import helper
from ..compiled.layouts import FLAG, NUMBER, WHOLE, Layout
from ..priors.laws import RECORD
from ..process.scratch import concatenated

RADII = (0.25, 0.4, 0.63, 1.0, 2.0, 4.0, 8.0)
"""Of a group's ladder, in units of its first radius, within which its rows nearly always stay."""

RUNGS = len(RADII)

COMMON = Layout(
    "Common",
    order=NUMBER,  # 2, as of every expansion that is quadratic
    factors=WHOLE,
    p=WHOLE,  # common parameters
    n_scales=WHOLE,  # coordinates of the covariances, of all factors
    all_groups=WHOLE,  # of all factors
    most_effects=WHOLE,  # that a group of any factor has
    tau_at=WHOLE,  # the position of 1 / scale of the errors, -1 if it is known
    shared_at=WHOLE,  # common parameters from here on are numbers that all rows share: a log dispersion, a logit
    share_at=WHOLE,  # which of these is the logit of a share of all rows, -1 where none is
    prior_scales=WHOLE,  # unknown scales of the common parameters' prior; mostly none (`.prior_scales`)
    prior_scales_at=WHOLE,  # where a state has the logarithms of their squares
    mixture_size=WHOLE,
    tables_size=WHOLE,
    prior_tau=NUMBER,  # tau at the centre, 1 where there is none
    factor_start=("factors",),  # where the factors' records begin, behind this one's first number
    centre=("p",),
    gradient=("p",),
    hessian=("p", "p"),
    prior_offset=("p",),  # b0 of coefficients whose coordinate is ``(b - b0) tau``, else 0
    prior_mixture=("mixture_size",),  # which parameter has which scale, and the scales' laws: a record of `SUMMED`
    prior_wide=("prior_scales",),  # logarithms of the squares at which the factors' laws are made
    prior_tables=("tables_size",),  # what scales are proposed from: a record of `TABLES`
)

FACTOR = Layout(
    "Factor",
    p=WHOLE,
    groups=WHOLE,
    n_effects=WHOLE,  # of a group
    n_scales=WHOLE,  # coordinates of the covariance, lambda; none where it is known
    n_moved=WHOLE,  # of these, or of known ones that move with the errors' scale
    scales_at=WHOLE,  # where they lie in a state
    effects_at=WHOLE,
    group_at=WHOLE,  # place of the first group among those of all factors
    n_cells=WHOLE,
    n_rows=WHOLE,
    record_size=WHOLE,  # numbers of a row in `places`: whether energies are without their cubic part
    n_laws=WHOLE,
    n_neighbours=WHOLE,
    n_between=WHOLE,
    long_tails=WHOLE,  # whether proposals of (A) have long tails (`.long_tail`)
    n_parents=WHOLE,
    n_partners=WHOLE,
    n_related=WHOLE,  # levels of known covariance: all groups, or none
    most_effects=WHOLE,
    table_size=WHOLE,
    free_groups=NUMBER,
    correlation=NUMBER,
    df=NUMBER,  # degrees of freedom of Student-t effects; 0 where effects are normal
    known=FLAG,  # the covariance
    learned=FLAG,  # the law of (b, lambda) is that of `.learned_law`, which does not follow eps
    # cells: rows of a group of like displacement
    cell_start=("groups + 1",),  # where a group's cells begin
    cell_group=("n_cells",),
    row_start=("n_cells + 1",),  # where a cell's rows begin in `places`
    places=("n_rows", "record_size"),  # rows cell by cell, with bounds and alias tables (`acceptance.grouped`)
    bound_total=("n_cells",),  # C
    common_reach=("n_cells",),  # e, the largest |x - lean'z| in the metric of the common parameters
    effect_reach=("n_cells",),  # m, the largest |effect_metric^-1/2 z|; of groups of one effect the largest |z|
    radius=("n_cells",),  # the first trust radius
    rungs=(RUNGS, "n_cells"),  # factors of the bound within each of the radii
    # groups
    free=("groups",),  # 0 where the effects are zero, as at a reference level, else 1
    cubic=("groups",),  # 1 where the rows' energies are without their cubic part, else 0
    mode=("groups", "n_effects"),
    gradient=("groups", "n_effects"),
    curvature=("groups", "n_effects", "n_effects"),
    convex=("groups", "n_effects", "n_effects"),  # the same of the rows that are convex, by which proposals are made
    effect_metric=("groups", "n_effects", "n_effects"),
    polynomial_radius=("groups",),  # the length in that metric beyond which a polynomial says little of the rows
    cross=("n_effects", "p", "groups"),
    regress_x_on_z=("groups", "n_effects", "n_effects"),  # x is about lean'z in the group, lean = this times cross
    thirds=("groups", "n_effects", "n_effects", "n_effects"),
    cross_thirds=("n_effects", "n_effects", "p", "groups"),
    fourths=("groups",),
    # other factors
    neighbour_start=("n_cells + 1",),  # where the groups of other factors begin that a cell shares rows with
    neighbour=("n_neighbours",),  # their places among all groups of all factors
    neighbour_factor=("n_neighbours",),
    partner_start=("groups + 1",),  # the same of a group's rows
    partner=("n_partners",),
    cross_curvature=("n_partners", "n_effects", "most_effects"),  # sum f'' z z~'
    # what no row sees (`.between`)
    between=("n_between",),  # common columns that are w z in every row of a group
    between_effects=("n_between",),  # the column z of effects
    between_weights=("n_between", "groups"),  # w
    between_gram=("n_between", "n_between"),  # sum w w'
    between_slope=("n_between",),  # at the centre, of minus the log prior of these common parameters
    between_hessian=("n_between", "n_between"),
    parent_factors=("n_parents",),  # whose groups hold those of this factor
    parent_effects=("n_parents", 2),  # the columns of effects here and there
    parents=("n_parents", "groups"),
    between_pulls=("n_between", "groups"),  # w, or w'K^-1 of related levels
    # related levels (`.relation`): v = T w
    basis=("n_related", "n_related"),  # T
    basis_inverse=("n_related", "n_related"),
    basis_curvature=("n_related",),  # the diagonal of T'H T, H that of the convex rows
    basis_mode=("n_related",),  # T^-1 mode
    basis_cross=("p", "n_related"),  # (T'h)'
    dominating=("n_related",),  # D
    excess_root=("n_related", "n_related"),  # R R' = D - K^-1
    # the law of (b, lambda)
    scales=("n_moved",),  # lambda at the centre
    prior_gradient=("p + n_scales",),  # at the centre, of minus the log priors of (b, lambda) and of all volumes
    root=("p + n_scales", "p + n_scales"),  # L, the Gaussian law of (b, lambda) has covariance L L'
    root_inverse=("p + n_scales", "p + n_scales"),
    offset=("p + n_scales",),  # of a learned law: the standardised mean, other factors at the centre
    metric=("p", "p"),  # |metric b| is the length of a displacement
    common_hessian=("p", "p"),  # in the common parameters, of all rows and of their prior
    precision=("n_effects", "n_effects"),  # where the covariance is known
    steps=("n_moved",),  # of differences in lambda
    centre_precision=("n_effects", "n_effects"),  # Sigma^-1 at the centre
    side_precisions=("n_moved", 2, "n_effects", "n_effects"),  # and a step to either side of it
    scale_table=("table_size",),  # a record of `SCALE_TABLE`
    laws=("n_laws", RECORD),  # of the scales, see `tunamh.priors.laws`
)

SCALE_TABLE = Layout(
    "ScaleTable",
    "p",
    cells=WHOLE,  # of log scales; 0 where there is no table
    low=NUMBER,  # where they begin
    width=NUMBER,  # of a cell
    slope=NUMBER,  # of E in lambda at the centre
    slope_in_b=("p",),  # of E in b there, where the cells have followed it; else 0
    log_mass=("cells",),  # log w
    unit=("cells",),  # by which slopes in b shrink where tau is larger than at the centre
    phi=("cells",),
    log_det=("cells",),  # of R
    mean=("cells", "p"),  # m
    root=("cells", "p", "p"),  # the lower triangular R with R R' = S^-1
)

MEAN, SQUARES = range(2)
SUMMARY = Layout("Summary", "effects", count=(1,), moments=("effects", 2))
"""A sweep's memory where draws of effects are not kept: how many sweeps, and of every effect `MEAN` and `SQUARES`."""

_common_at, _factor_at = COMMON.reader(), FACTOR.reader()
scale_table_at, summary_at = SCALE_TABLE.reader(), SUMMARY.reader()


def pack(factors: list[np.ndarray], **common: object) -> np.ndarray:
    """Return one vector: the record of `COMMON` with these fields, then the records of the factors."""
    own = COMMON.pack(order=2.0, factors=len(factors), factor_start=np.zeros(len(factors)), **common)
    starts = len(own) + np.concatenate([[0], np.cumsum([len(one) for one in factors])])
    COMMON.views(own).factor_start[:] = starts[:-1]
    return concatenated([own, *factors])


@helper(inline=True)
def common_of(hyper):
    return _common_at(hyper, int(hyper[0]))


@helper(inline=True)
def factor_of(hyper, f):
    return _factor_at(hyper, int(hyper[0]) + int(common_of(hyper).factor_start[f]))
