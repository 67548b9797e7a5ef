"""(A) of a sweep: common parameters and scales together, the groups' ``eps`` kept (spec 5q)."""

from __future__ import annotations

import math

import numpy as np

from ..acceptance.base import accepts
from ..acceptance.grouped import GroupDecisions, GroupMove, read_groups
from ..compiled import BAD_RATIO, NO_FAULT, helper, part
from ..compiled.triangular import back, cholesky, solve
from ..compiled.vector import copy_into
from ..compiled.windows import window
from .conditionals import End, copy_given, fill_cubics, fill_distances, fill_given, follow, new_given, place, stand
from .dilation import dilate
from .kernel_common import ALL_ROWS, Move, closed_prior, length_of, precision, rows_of
from .layout import scale_table_at
from .long_tail import cauchy_number, chosen_coordinate, square_beside
from .one_effect import sum_over_groups
from .related import add_given_scales
from .roles import PROPOSE_COMMON, MoveRows, ProposeCommon, propose_at, turn_at
from .scale_table import WIDE, propose_by_table
from .share import into_share, out_of_share, share_about
from .shift import fill_learned_shift, fill_shift

_MOST_BETA, _HALF_WAY = 2.0, 10.0  # of (A), whose decision would else be noisy, and rows at which it is half there
_ROWS_PER_CELL = 0.15  # that may be read beside: it costs little, as every cell is looked at anyway
_SCALES, _NEARBY = 0.03, 0.1  # shares of (A): walks of the scales alone, and of all
_BY_TABLE = 0.5  # share of draws from the table of a scale's law, where there is one
_WIDE_LEARNED = 0.4  # standard deviation of a scale above which a law that was learned knows it badly, too
_GIVEN_SCALES = 0.3  # share of common parameters given uncertain scales, if there is no table
_SCALES_OF_FEW, _NEARBY_OF_FEW = 0.25, 0.25  # the shares there
_UNIFORM, _UP_TO = 0.25, 2.0  # share of uniform scales of several effects; up to how many deviations above the centre
_SHARED_ALONE = 0.3  # share of walks of one number that all rows share, if one of them is uncertain
_DILATIONS = 0.2  # share of (A) if they may be made
_IN_SHARES = 0.7  # share of proposals in the coordinate of a share, if its logit is uncertain
_TIMES = 4  # moves of (A) in a sweep there
_UNSURE, _ERRORS_ALONE = 0.3, 0.25  # share of the errors' scale that its law is wide, and of dilations of it there
_FEW_GROUPS = 100  # of a factor; below it (A) costs little
_THIN, _MANY, _IN_CACHE = 30.0, 1000, 3000  # rows of a group, on average; groups of a factor
_TWICE = 2  # moves of (A) in a sweep there
_NARROWEST, _WIDEST = -1.5, 2.5  # logarithms of their lengths, in standard deviations of the Gaussian law


@helper
def _quadratic(slope, H, b, p):
    """``slope.b + b'Hb / 2``."""
    total = 0.0
    for i in range(p):
        value = slope[i]
        for j in range(p):
            value += 0.5 * H[i, j] * b[j]
        total += value * b[i]
    return total


@helper
def _width(factor, k):
    """The standard deviation of number ``k`` of ``(b, lambda)`` under the Gaussian law."""
    total, root = 0.0, factor.root
    for j in range(root.shape[1]):
        total += root[k, j] ** 2
    return math.sqrt(total)


@helper
def _is_wide(factor):
    """Whether the first scale is known so badly that a Gaussian law says little of it."""
    return _width(factor, factor.p) > (_WIDE_LEARNED if factor.learned else WIDE)


@helper
def _walk_shared(rng, factor, common, there):
    """One number that all rows share (a logit of inflation, a log dispersion) by a walk of its own, the rest stays.

    Such a number may have a tail far longer than the Gaussian law's: a share of zeros near zero is known by its prior
    alone. Returns whether there was one that is known as badly; the walk is symmetric, its length apart from the state.
    """
    shared = common.p - common.shared_at
    if shared == 0:
        return False
    k = common.shared_at + min(int(rng.random() * shared), shared - 1)
    width = _width(factor, k)
    if not width > WIDE:
        return False
    there[k] += width * math.exp(_NARROWEST + (_WIDEST - _NARROWEST) * rng.random()) * rng.standard_normal()
    return True


@helper
def errors_are_unsure(common, factor):
    """Return True if the errors' scale is uncertain.

    Then its tails are much longer than those of a normal law of tau.
    """
    return common.tau_at >= 0 and _width(factor, common.tau_at) > _UNSURE * common.centre[common.tau_at]


@helper
def times_common(factor, common):
    """Return how often kernel (A) is applied in a sweep.

    It is more than once in five cases. First, if a number that all rows share, or tau, is uncertain: then there are
    few data, and the Gaussian law is a poor approximation (a share of zeros near zero, cutpoints of 72 rows). Second,
    if several scales are uncertain. Third, for a few groups of which the rows say little. Fourth, for many thin groups
    beside other factors, because the preparation of a factor's turn costs as much as (A). Fifth, for thin groups of one
    factor whose numbers fit into the cache of a core: (A) costs a third of a sweep, and effects mix faster than the
    parameters that they share.
    """
    if errors_are_unsure(common, factor):
        return _TIMES
    for k in range(common.shared_at, common.p):
        if _width(factor, k) > WIDE:
            return _TIMES
    if factor.n_scales > 1 and _is_wide(factor) and not factor.learned:
        return _TIMES
    if factor.long_tails > 0 and factor.groups < _FEW_GROUPS and not factor.learned:
        return _TIMES
    if not factor.n_rows < _THIN * factor.groups:
        return 1
    twice = factor.groups >= _MANY if common.factors > 1 else factor.learned and factor.groups < _IN_CACHE
    return _TWICE if twice else 1


@helper
def _dilate(rng, turn):
    """The errors' scale alone, as a user knows the parameters, by a number whose logarithm has a symmetric law.

    ``tau``, the coefficients in its units, ``(beta - b0) tau``, and the factor's scales ``e^lambda`` are multiplied by
    ``c``. Returns the logarithm of the Jacobian: ``c`` to the number of the common parameters, as lambda is shifted.
    """
    factor, common, there = turn.factor, turn.common, turn.there
    width = min(1.0, _width(factor, common.tau_at) / common.centre[common.tau_at])
    step = width * math.exp(_NARROWEST + (_WIDEST - _NARROWEST) * rng.random()) * rng.standard_normal()
    by = math.exp(step)
    for j in range(factor.p):
        there[j] *= by
    scales = window(there, factor.scales_at, factor.n_scales)
    for a in range(min(factor.n_effects, factor.n_scales)):
        scales[a] += step
    return factor.p * step


@helper
def _draw_anew(rng, y, rho, far):
    """``rho y + sqrt(1 - rho^2) xi``, coordinate ``far`` from a Cauchy law; the log ratio of back and forth."""
    before, after, keep = 0.0, 0.0, math.sqrt(1.0 - rho * rho)
    for i in range(y.size):
        before += square_beside(y[i]) if i == far else y[i] * y[i]
        y[i] = cauchy_number(rng) if i == far else rho * y[i] + keep * rng.standard_normal()
        after += square_beside(y[i]) if i == far else y[i] * y[i]
    return 0.5 * (after - before)


@helper
def _propose_common(rng, turn, shift):
    """Fill the common parameters and scales of ``there``; returns the log ratio of proposing back and forth.

    With ``y = L^-1 ((b, lambda) - mean)``, standard normal under the Laplace law: ``rho y + sqrt(1 - rho^2) xi``, or a
    random walk. Returns also whether it was no walk.
    """
    factor, state, there, rho = turn.factor, turn.state, turn.there, turn.rho
    p, m = factor.p, factor.n_scales
    n = p + m
    centre, middle, root, root_inverse = turn.common.centre, factor.scales, factor.root, factor.root_inverse
    own, own_there = window(state, factor.scales_at, m), window(there, factor.scales_at, m)
    y = np.empty(n)
    for i in range(n):
        value = -shift[i]
        for j in range(i + 1):
            away = state[j] - centre[j] if j < p else own[j - p] - middle[j - p]
            value += root_inverse[i, j] * away
        y[i] = value
    kind, few = rng.random(), m > 0 and _is_wide(factor)
    scales, nearby = (_SCALES_OF_FEW, _NEARBY_OF_FEW) if few else (_SCALES * (m > 0), _NEARBY)
    walks, log_q = kind < scales + nearby, 0.0
    if walks:  # of the scales alone or of all, where the law has other tails than a Gaussian: symmetric
        first = p if kind < scales else 0
        width = 2.4 / math.sqrt(n - first) * math.exp(3.0 * rng.random() - 1.5)
        for i in range(first, n):
            y[i] += width * rng.standard_normal()
    else:
        log_q = _draw_anew(rng, y, rho, chosen_coordinate(rng, n) if factor.long_tails > 0 else -1)
    for i in range(n):
        value = 0.0
        for j in range(i + 1):
            value += root[i, j] * (y[j] + shift[j])
        if i < p:
            there[i] = centre[i] + value
        else:
            own_there[i - p] = middle[i - p] + value
    return log_q, not walks


@helper
def _may_dilate(turn):
    """Whether the factor's law has long tails, and the errors have no unknown scale."""
    return turn.factor.long_tails > 0 and turn.common.tau_at < 0


@helper
def _draw_uniform_scale(rng, turn):
    """One scale of several uniformly between zero and a number ``c``, the others stay; the log ratio of proposing.

    Where an effect may not vary at all, the density of its scale is flat near zero, and that of the scale's logarithm
    ``lambda`` falls like ``e^lambda``: walks of lambda go there seldom and come back late. A uniform scale has the
    density ``e^lambda / c`` in lambda, whatever the state is. A scale above ``c`` stays.
    """
    factor, q = turn.factor, turn.factor.n_effects
    a = min(int(rng.random() * q), q - 1)
    scales = window(turn.there, factor.scales_at, factor.n_scales)
    highest = factor.scales[a] + _UP_TO * _width(factor, factor.p + a)
    here = scales[a]
    if here >= highest:
        return 0.0
    scales[a] = highest + math.log(1.0 - rng.random())
    return here - scales[a]


@helper
def _add_given_scales(turn, Q, gradient, S):
    """What groups add to gradient and Hessian in ``b``, their effects integrated out at these scales."""
    factor = turn.factor
    p, q = factor.p, factor.n_effects
    mean, C, solved = np.empty(q), np.empty((q, q)), np.empty(q)
    cross, mode, free = factor.cross, factor.mode, factor.free
    for g in range(factor.groups):
        if free[g] == 0.0:
            continue
        place(factor, g, turn.kappa, turn.weights[g], Q, C, mean)
        for j in range(p):
            for a in range(q):
                h = cross[a, j, g]
                gradient[j] += h * (mean[a] - mode[g, a])
                solved[a] = h
            solve(C, q, solved)
            for i in range(p):
                for a in range(q):
                    S[i, j] -= cross[a, i, g] * solved[a]


@helper
def _propose_given_scales(rng, turn, Q):
    """Common parameters by their Gaussian law at these scales, which stay: ``E`` is quadratic in ``b`` given lambda.

    If scales are uncertain, the law about the mode is too narrow for an intercept at larger ones. Returns the log
    ratio of proposing back and forth; nothing moves where the Hessian is not positive definite.
    """
    factor, centre, state, there = turn.factor, turn.common.centre, turn.state, turn.there
    p = factor.p
    gradient, S = np.empty(p), np.empty((p, p))
    prior, hessian = factor.prior_gradient, factor.common_hessian
    for i in range(p):
        gradient[i] = prior[i] + turn.slope[i]
        for j in range(p):
            S[i, j] = hessian[i, j]
    if factor.n_related > 0:
        add_given_scales(factor, turn.kappa[0], Q[0, 0], gradient, S)
    else:
        _add_given_scales(turn, Q, gradient, S)
    cholesky(S, p)
    for i in range(p):
        if not S[i, i] > 0.0:
            return 0.0
    solve(S, p, gradient)  # the middle is at minus this
    before, after, xi = 0.0, 0.0, np.empty(p)
    for i in range(p):
        total = 0.0
        for k in range(i, p):
            total += S[k, i] * (state[k] - centre[k] + gradient[k])
        before += total * total
        xi[i] = rng.standard_normal()
        after += xi[i] * xi[i]
    back(S, p, xi)
    for i in range(p):
        there[i] = centre[i] - gradient[i] + xi[i]
    return 0.5 * (after - before)


@helper
def rows_beside(totals, distances):
    """Return the factor by which more rows are drawn than necessary. If few rows are drawn, more rows reduce the noise.

    The factor is symmetric in both ends of the move, because the distances are.
    """
    move_bound = 0.0
    for g in range(distances.size):
        if distances[g] < np.inf:
            move_bound += totals[g] * distances[g]
    most = max(_MOST_BETA, _ROWS_PER_CELL * distances.size / max(move_bound, 1e-300))
    return 1.0 + (most - 1.0) * move_bound / (move_bound + _HALF_WAY)


@helper
def _energy_at(turn, state, given, closed, logdet, c_of_cells):
    """All that is known in closed form at a state but the priors, ``closed`` being the groups' part; fills ``c``."""
    factor, common = turn.factor, turn.common
    p, b, cubics = factor.p, np.empty(factor.p), np.zeros(factor.groups)
    for j in range(p):
        b[j] = state[j] - common.centre[j]
    fill_cubics(factor, given, state, c_of_cells, cubics)
    energy = closed + _quadratic(turn.slope, common.hessian, b, p) + 0.5 * factor.free_groups * logdet
    return energy + sum_over_groups(cubics)


@helper
def _is_finite(factor, state):
    """Whether common parameters and the factor's scales are numbers."""
    total, scales = 0.0, window(state, factor.scales_at, factor.n_scales)
    for j in range(factor.p):
        total += 0.0 * state[j]
    for k in range(factor.n_scales):
        total += 0.0 * scales[k]
    return total == 0.0


@helper
def _propose(rng, turn, eps, Q):
    """By one of seven laws; returns the log ratio of proposing back and forth, and whether it was the Laplace law."""
    factor, common = turn.factor, turn.common
    n = factor.p + factor.n_scales
    if common.shared_at < common.p and rng.random() < _SHARED_ALONE:
        if _walk_shared(rng, factor, common, turn.there):
            return 0.0, False
    if errors_are_unsure(common, factor) and rng.random() < _ERRORS_ALONE:
        return _dilate(rng, turn), False
    wide = not factor.known and _is_wide(factor)
    if wide and factor.n_effects > 1 and rng.random() < _UNIFORM:
        return _draw_uniform_scale(rng, turn), False
    tabled = scale_table_at(factor.scale_table, 0, factor.p).cells > 0
    if wide and not tabled and rng.random() < _GIVEN_SCALES:
        return _propose_given_scales(rng, turn, Q), False
    gradient, shift = np.empty(n), np.empty(n)
    by_table = tabled and rng.random() < _BY_TABLE
    if factor.learned and not by_table:
        fill_learned_shift(turn, shift)
        return _propose_common(rng, turn, shift)
    fill_shift(turn, eps, gradient, shift)
    if by_table:
        return propose_by_table(rng, turn, gradient), False
    return _propose_common(rng, turn, shift)


@helper
def propose_kinds(rng, turn, eps, Q):
    """Propose by `_propose`, in the coordinate of a share or of its logit. The choice does not depend on the state.

    If a number in ``there`` is NaN, the proposal is rejected.
    """
    factor, common, state, there = turn.factor, turn.common, turn.state, turn.there
    at = common.share_at
    width = _width(factor, at) if at >= 0 else 0.0
    if not (width > WIDE and rng.random() < _IN_SHARES):
        return _propose(rng, turn, eps, Q)
    own, logit = share_about(at, common.centre[at], width * width), state[at]
    here_slope = into_share(own, state)
    if math.isnan(here_slope):  # from where no move in shares arrives: it stays
        there[at] = np.nan
        return 0.0, False
    there[at] = state[at]
    log_q, laplace = _propose(rng, turn, eps, Q)
    state[at] = logit
    there_slope = out_of_share(own, there)
    if math.isnan(there_slope):
        there[at] = np.nan
        return 0.0, laplace
    return log_q + here_slope - there_slope, laplace


@part(ProposeCommon)
def propose_common(rng, address, eps, Q):
    """Propose common parameters and scales by `propose_kinds`."""
    return propose_kinds(rng, turn_at(address), eps, Q)


@part(MoveRows)
def move_common(rng, address):
    """Kernel (A) of a sweep: update common parameters and scales together, given standardised effects (spec 5q).

    Afterwards ``given`` of the turn contains the slopes and the leans at the new ``b``.

    NaN at the state is a fault. NaN at the proposal comes from an overflow, and the proposal is rejected.
    """
    turn = turn_at(address)
    factor, common, state, there, given = turn.factor, turn.common, turn.state, turn.there, turn.given
    p, q, G = factor.p, factor.n_effects, factor.groups
    Q, root, eps, after = np.empty((q, q)), np.empty((q, q)), np.empty((q, G)), new_given(factor)
    b, b_there = np.empty(p), np.empty(p)
    here_of, there_of = np.zeros(factor.n_cells), np.zeros(factor.n_cells)
    for j in range(p):
        b[j] = state[j] - common.centre[j]
    fill_given(factor, turn.kappa, b, given)
    logdet = precision(factor, common, state, root, Q)
    closed = stand(factor, turn.weights, Q, given.slopes, state, eps)
    prior = closed_prior(turn, state)
    fall = _energy_at(turn, state, given, closed, logdet, here_of) - prior
    if not math.isfinite(fall):
        return Move(0.0, -np.inf, 0, 0.0, BAD_RATIO, False)
    dilated = _may_dilate(turn) and rng.random() < _DILATIONS
    if dilated:
        log_q, laplace = dilate(rng, turn, Q), False
    else:
        log_q, laplace = propose_at(turn.parts[PROPOSE_COMMON])(rng, address, eps, Q)
    rejected = Move(0.0, -np.inf, 0, 0.0, NO_FAULT, laplace)
    if not _is_finite(factor, there):
        copy_into(there, state)
        return rejected
    prior = closed_prior(turn, there)
    if not prior > -np.inf:
        if math.isnan(prior):  # of common parameters that are numbers
            return Move(0.0, -np.inf, 0, 0.0, BAD_RATIO, laplace)
        copy_into(there, state)
        return rejected
    for j in range(p):
        b_there[j] = there[j] - common.centre[j]
    fill_given(factor, turn.kappa, b_there, after)
    logdet = precision(factor, common, there, root, Q)
    if dilated:
        closed = stand(factor, turn.weights, Q, after.slopes, there, eps)
    else:
        closed = follow(factor, turn.weights, Q, after.slopes, eps, there)
    rise = _energy_at(turn, there, after, closed, logdet, there_of) - prior
    if not math.isfinite(rise):
        copy_into(there, state)
        return rejected
    log_rho = log_q + fall - rise
    if math.isnan(log_rho) or log_rho == np.inf:
        return Move(0.0, log_rho, 0, 0.0, BAD_RATIO, laplace)
    metric = factor.metric
    lengths = (
        max(length_of(metric, b, b, 0.0), length_of(metric, b_there, b, 0.0)),
        length_of(metric, b_there, b, -1.0),
        length_of(metric, b_there, b, 1.0),
    )
    distances = np.empty(factor.n_cells)
    ends = End(state, given.leans, here_of), End(there, after.leans, there_of)
    fill_distances(factor, ends[0], ends[1], lengths, turn.away, distances)
    beta = ALL_ROWS if turn.full else rows_beside(factor.bound_total, distances)
    log_ratio, owner = np.full(1, log_rho), np.zeros(factor.n_cells, np.int64)
    table = rows_of(factor, here_of, there_of)
    move = GroupMove(state, there, table, distances, beta, turn.model, turn.work)
    seen = read_groups(rng, move, GroupDecisions(log_ratio, owner))
    if seen.fault != NO_FAULT:
        return Move(0.0, -np.inf, seen.rows, seen.worst, seen.fault, laplace)
    if accepts(rng, log_ratio[0]):
        copy_into(state, there)
        copy_given(given, after)
        return Move(1.0, log_ratio[0], seen.rows, seen.worst, NO_FAULT, laplace)
    copy_into(there, state)
    return Move(0.0, log_ratio[0], seen.rows, seen.worst, NO_FAULT, laplace)
