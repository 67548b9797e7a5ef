"""`tunamh.evidence`: the log marginal likelihood of a regression, from one pass over the rows and minibatches."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from .._arguments import explained, seed_sequence, shown, whole_number
from ..capabilities import Examined, Kept, Normalised, Repeating, offers
from ..errors import NotApplicable
from ..groups import MixedModel
from ..laplace.gaussian import gaussian_at_mode
from ..marginal.estimate import AllRows, Decides, posterior_ordinate
from ..marginal.evidence import Evidence
from ..marginal.pairs import MinibatchTest
from ..marginal.proposal_law import NormalMixture
from ..marginal.states import refuse_groups, states_of
from ..marginal.with_scales import Found, by_all_rows, by_minibatches, has_unknown_scales
from ..process.blas import one_blas_thread
from ..process.stages import announce
from ..results.layout import layout_of
from ..targets.base import Target
from ..targets.checks.properness import why_unsafe
from ..targets.normalised.prior_density import refuse_flat_laws
from ..targets.scale_mixtures.nested import about_own_scales, may_be_nested, without_scales
from .choice import expanded_about_mode
from .sample import sample

_CHAINS, _DRAWS, _TUNE = 4, 1000, 500
_FLOOR = 20.0  # rows of a minibatch: for less noise in the decision
_MOST_ENERGIES = 2e10  # of all rows, times columns, where every proposal reads all of them
_MOST_PASSES = 4e8  # rows times proposals, from which minibatches decide about scales and coefficients
_FEWEST = 200


@explained
def evidence(target: Any, posterior: Any = None, *, proposals: int = 4000, rng: Any = 0) -> Evidence:
    """Estimate the log marginal likelihood of a regression, ``log p(y)``, with its standard error.

    ``p(y) = integral p(y | theta) p(theta) d theta`` includes all constants of the likelihood and of the prior. For two
    models of the same responses, the difference of the two results is the logarithm of the Bayes factor;
    `tunamh.compare` also computes posterior probabilities of models. The estimate needs one pass over all rows. The
    rest comes from acceptance probabilities of moves that read only minibatches, as in `tunamh.sample` (docs/compare.md
    has the formula).

    Parameters
    ----------
    target : GLM, or result
        A regression with proper priors (the default priors of formulas are proper). You can also pass a result that
        already contains its evidence; then this evidence is returned.
    posterior : DataTree, optional
        The result of ``tunamh.sample(target)``. The function uses its draws and stores the evidence in this result, for
        saved files and `tunamh.compare`. Default: the function makes 4000 draws itself.
    proposals : int
        Number of proposed moves in each of two directions. In the first direction, moves go from draws of the posterior
        to a fixed point near the centre of the posterior. In the second direction, they go from this point to draws
        from an approximation of the posterior. In models with group effects, and in models with unknown scales of a
        prior and few rows, there are no such moves. The function then compares this number of draws from the posterior
        with the same number of draws from the approximation (bridge sampling). The standard error is proportional to
        one over the square root of this number.
    rng : seed, optional
        The seed of the moves. Default: 0, so that a second call gives the same result.

    Returns
    -------
    Evidence
        It has ``log_evidence``, its standard error ``se``, ``proposals``, ``rows`` (the mean number of rows that a move
        reads) and ``acceptance`` (the mean acceptance probabilities of both directions). ``a.bayes_factor(b)`` is the
        Bayes factor of two models, and its standard error.

    Raises
    ------
    NotApplicable
        If a prior is flat or is your own function; if the draws of group effects are missing (make the target with
        ``keep_effects=True``); if the target is not a regression; if the posterior is so far from the distribution of
        the proposals that the standard error is not reliable.

    Notes
    -----
    With group effects, every proposal reads all rows, and the number of proposals decreases with the number of rows,
    down to 200. The effects of the largest factor are integrated out, group by group, without bias. For smooth terms,
    `Ridge`, `Grouped` and `Horseshoe` without groups, proposals read all rows if these are few, and otherwise
    minibatches.

    A row of weight ``w`` counts as ``w`` rows. With ``temper``, ``p(y | theta)`` is raised to the power ``temper``.
    Your own energy (`tunamh.family`) must be minus the log density with all its constants.

    The evidence depends on the priors, even if the posterior hardly does: if the prior is ten times as wide, the log
    evidence decreases by about 2.3 for each coefficient.

    Examples
    --------
    >>> first = tunamh.evidence(tunamh.regression("late ~ distance", flights, family="logistic"))
    >>> second = tunamh.evidence(tunamh.regression("late ~ distance + hour", flights, family="logistic"))
    >>> second.bayes_factor(first)
    """
    if not isinstance(target, Target) and posterior is None:
        return _kept(target)
    refuse_without_evidence(target)
    proposals, seed = whole_number("proposals", proposals, _FEWEST), seed_sequence("rng", rng)
    moves, rows = np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, 2**31)).spawn(2)
    target.check_data()
    if posterior is None:
        result = sample(target, draws=_DRAWS, tune=_TUNE, chains=_CHAINS, rng=seed, progressbar=False)
    else:
        _refuse_other_data(target, posterior)
        result = posterior
    with one_blas_thread():
        generator = np.random.default_rng(moves)
        if has_unknown_scales(target):
            estimate = _with_scales(target, result, proposals, generator, rows)
        else:
            estimate = _of_regression(target, result, proposals, generator, rows)
    found = Evidence(*estimate, target.data_rows)
    if posterior is not None:
        found.add_to(posterior)
    return found


def _of_regression(
    target: Any, result: Any, proposals: int, rng: np.random.Generator, rows: np.random.SeedSequence
) -> Found:
    test, law, at_most = _test_of(target, rows)
    n = min(proposals, at_most)
    ordinate = posterior_ordinate(_walked(target, result), law, test, n, rng)
    announce("adding up the likelihood of all rows")
    joint = target.log_joint(law.centre)
    return Found(joint - ordinate.log_density, ordinate.se, n, ordinate.rows, ordinate.acceptance)


def _with_scales(
    target: Any, result: Any, proposals: int, rng: np.random.Generator, rows: np.random.SeedSequence
) -> Found:
    """By all rows, or by minibatches where these cost much less."""
    states = states_of(target, result)
    if isinstance(target, MixedModel) or target.n_rows * proposals < _MOST_PASSES:
        return by_all_rows(target, states, proposals, rng)
    merged = target.distinct() if offers(target, Repeating) else None
    wide = target if merged is None else merged
    mode = wide.modes[0]
    centre, expansion = mode.point, mode.expansion
    try:
        if may_be_nested(wide):
            wide, centre, expansion = about_own_scales(wide, centre, expansion)
        wide = wide._with(_prior=without_scales(wide._prior, wide.row_layout.start), known_columns=wide.columns)
        expanded = wide.taylor(2, centre, expansion, whiten=True, original_bounds=False)
    except NotApplicable:  # rows without a bound
        return by_all_rows(target, states, proposals, rng)
    return by_minibatches(target, states, proposals, rng, MinibatchTest(expanded, _FLOOR, rows), wide._prior)


def _kept(result: Any) -> Evidence:
    try:
        found = Evidence.of_result(result)
    except (KeyError, TypeError, AttributeError):
        raise TypeError(
            f"target must be a regression such as tunamh.regression(formula, data), or a result, got {shown(result)}."
        ) from None
    if found is None:
        raise NotApplicable(
            "this result does not contain its evidence, and it does not contain the data: call "
            "tunamh.evidence(target, result) once, with the target of this result; then the result contains it."
        )
    return found


def refuse_without_evidence(target: Any) -> None:
    """Raise an error for models that have no evidence, or for which the library cannot compute it."""
    if isinstance(target, MixedModel):
        target.base.refuse_without_constants()
        for one in target.groupings:
            if one.laws is not None:
                refuse_flat_laws(one.laws, [f"the scale of {one.name}"] * len(one.laws.kind))
        refuse_groups(target)
        return
    if not offers(target, Examined) or not offers(target, Normalised):
        raise NotApplicable(f"evidence is for regressions: a GLM or a formula, got {shown(target)}.")
    target.refuse_without_constants()


def _refuse_other_data(target: Any, posterior: Any) -> None:
    """Draws of other data or of another model would give a wrong number without a sign of it."""
    try:
        attributes = posterior["posterior"].attrs
        settings = json.loads(attributes["settings"])
    except (KeyError, TypeError, AttributeError, ValueError):
        raise TypeError(f"posterior must be the result of tunamh.sample(target), got {shown(posterior)}.") from None
    if not attributes.get("exact", 1):
        raise NotApplicable(
            "the draws are not exact, so they cannot be used for the evidence: use the result of tunamh.sample(target)."
        )
    same = settings["data"] == target.fingerprint
    model = attributes.get("model")
    if not same or (model is not None and json.loads(model) != json.loads(json.dumps(target.description))):
        what = "other data" if not same else "another model"
        raise ValueError(f"posterior is of {what} than target: give the result of tunamh.sample(target) itself.")


def _walked(target: Any, result: Any) -> np.ndarray:
    """The draws (chain, draw, parameter), in the coordinates that chains walk."""
    natural = layout_of(target, target.variables).flat(result["posterior"])
    flat = natural.reshape(-1, natural.shape[-1])
    return np.array([target.to_chain(point) for point in flat]).reshape(natural.shape)


def _test_of(target: Any, seed: np.random.SeedSequence) -> tuple[Decides, NormalMixture, int]:
    """What decides moves, the law of proposals, and how many proposals are worth their time."""
    if offers(target, Kept) and target.kept is not None:  # a centre of before: proposals are about today's mean
        expanded = target.kept.expanded
        return MinibatchTest(expanded, _FLOOR, seed), _about_mean(expanded), 2**62
    merged = target.distinct() if offers(target, Repeating) else None
    target = target if merged is None else merged
    mode, order = target.modes[0], target.highest_order()
    if len(target.modes) == 1 and order > 0 and why_unsafe(target, mode) is None:
        try:
            expanded = expanded_about_mode(target, order)[0]
            return MinibatchTest(expanded, _FLOOR, seed), _about_mean(expanded), 2**62
        except NotApplicable:  # rows without a bound
            pass
    found = [gaussian_at_mode([one]) for one in target.modes]
    laws = [(law, one.log_mass) for law, one in zip(found, target.modes, strict=True) if law is not None]
    if not laws:
        raise NotApplicable(
            "the search for a mode found none, but this estimate of the evidence needs proposals around a mode: "
            "set narrower priors."
        )
    mixture = NormalMixture(
        np.array([mass for _, mass in laws]),
        np.stack([law.mean for law, _ in laws]),
        np.stack([law.factor for law, _ in laws]),
    )
    affordable = int(_MOST_ENERGIES / (target.n_rows * target.dim))
    return AllRows(target), mixture, max(_FEWEST, affordable)


def _about_mean(expanded: Any) -> NormalMixture:
    return NormalMixture.of_one(expanded.reference, expanded.metric.factor)
