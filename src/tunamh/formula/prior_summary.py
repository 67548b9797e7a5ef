"""What a regression assumes before the data are seen: a table of every parameter and its prior in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._arguments import explained, shown
from ..capabilities import Examined, offers
from ..errors import NotApplicable
from ..groups import MixedModel
from ..groups.grouping import Grouping
from ..priors.description import POSITIVE, PROBABILITIES, laws_in_words
from ..priors.laws import Laws, ReadyIndependent
from ..priors.mixtures import BY_SHARES, GROUPED, HORSESHOE, Mixture
from ..priors.normal import Normal
from ..results.layout import ROLE, Layout, layout_of
from ..targets.base import Target
from ..targets.coordinates.steps import Walk

if TYPE_CHECKING:
    from ..targets import GLM


@explained
def prior_summary(target: Any) -> Any:
    """List the prior of every parameter of a regression, in words.

    The list includes your own priors and the default priors, with the numbers that `tunamh.sample` uses.

    Parameters
    ----------
    target : GLM or MixedModel
        A target made by `tunamh.regression`, a `GLM` or a `MixedModel`.

    Returns
    -------
    pandas.DataFrame
        One line for each parameter, with the names of `tunamh.summary`. ``prior`` is the prior in words, and ``role``
        says what kind of parameter it is. The lines below the table (``attrs["notes"]``) say more: the distribution of
        group effects, and the row for which the prior of an intercept or a cutpoint is defined.

    Raises
    ------
    NotApplicable
        The target is no regression.

    Examples
    --------
    >>> tunamh.prior_summary(tunamh.regression("late ~ distance + (1 | airport)", flights, family="logistic"))
    """
    from ..results.table import SummaryTable

    base = target.base if isinstance(target, MixedModel) else target
    if not isinstance(target, Target) or not offers(base, Examined):
        raise NotApplicable(f"prior_summary is for regressions: a GLM, a MixedModel or a formula, got {shown(target)}.")
    words = [*_parameters(base), *_scales_of_coefficients(base)]
    groupings = target.groupings if isinstance(target, MixedModel) else []
    words += [text for one in groupings for text in _scales(one)]
    words += [text for one in groupings for text in _correlations(one)]
    layout = layout_of(target, target.variables)
    told = {number for number, text in enumerate(words) if text}
    order = [int(column) for one in layout.variables for column in one.columns.ravel() if int(column) in told]
    roles = _roles(layout)
    table = SummaryTable(
        {"prior": [words[k] for k in order], "role": [roles[k] for k in order]},
        index=[layout.names[k] for k in order],
    )
    table.attrs["notes"] = _notes(base, groupings)
    return table


def _roles(layout: Layout) -> list[str]:
    """Of every number of a draw."""
    found = [""] * layout.size
    for one in layout.variables:
        for column in one.columns.ravel():
            found[int(column)] = one.attributes.get(ROLE, "")
    return found


def _parameters(base: GLM) -> list[str]:
    """Of coefficients and of the family's parameters, some of which may be coefficients of further curves."""
    words, joint = [*_coefficients(base), *_further(base)], base.joint_prior
    if joint is None:
        return words
    count = len(joint.flat)
    return [*_mixed(words[:count], joint.scales), *words[count:]]


def _coefficients(base: GLM) -> list[str]:
    own, names = base.coefficient_prior, base.row_layout.names
    if not isinstance(own, ReadyIndependent):
        own_words = "normal, with a covariance matrix" if isinstance(base.prior, Normal) else "your own density"
        return [f"{own_words}, of all coefficients together"] * len(names)
    words = laws_in_words(own.laws)
    return words if own.mixture is None else _mixed(words, own.mixture)


def _scales_of_coefficients(base: GLM) -> list[str]:
    """Unknown scales of a prior, in their places in a draw; "" for those of which the coefficients' lines tell."""
    mixture = base._prior.mixture
    if mixture is None:
        return []
    count = sum(1 if labels is None else len(labels) for _, labels in mixture.variables)
    told = _words_of_scales(mixture) if mixture.arrangement in (GROUPED, BY_SHARES) else []
    return told if len(told) == count else [""] * count


def _words_of_scales(mixture: Mixture) -> list[str]:
    own = mixture.numbers
    return laws_in_words(Laws(np.full(own.groups, 2.0), np.zeros(own.groups), own.width, own.df), positive=True)


def _mixed(words: list[str], mixture: Mixture) -> list[str]:
    """Coefficients whose scales are unknown too; the others have the laws that they have."""
    own = mixture.numbers
    if mixture.arrangement == HORSESHOE:
        told = [f"horseshoe, global scale half-Cauchy, scale {float(own.width):.4g}"] * len(words)
    elif mixture.arrangement == GROUPED:
        scales = _words_of_scales(mixture)
        told = [f"normal, mean 0, unknown standard deviation ({scales[int(g)]})" for g in own.group]
    elif mixture.arrangement == BY_SHARES:
        laws = _words_of_scales(mixture)
        told = [_by_shares([law for law, share in zip(laws, row, strict=True) if share > 0]) for row in own.share]
    else:
        told = words
    return [new if mixed else old for new, old, mixed in zip(told, words, mixture.mixed, strict=True)]


def _by_shares(scales: list[str]) -> str:
    if len(scales) < 2:
        return f"normal, mean 0, unknown standard deviation ({''.join(scales)})"
    each = scales[0] if len(set(scales)) == 1 else "; ".join(scales)
    return f"normal, mean 0, precision a sum over {len(scales)} unknown scales (each {each})"


def _further(base: GLM) -> list[str]:
    """Parameters of the family."""
    known = base.user_family.responses is not None
    found: list[str] = []
    form = base.row_layout.form
    for extra, laws in zip(base.row_layout.extras, base.row_layout.laws, strict=True):
        if isinstance(form, Walk):
            step = f"normal around the one before, standard deviation {form.deviation:.4g}"
            own = laws_in_words(laws)
            found += [step if bound else text for text, bound in zip(own, form.bound, strict=True)]
        elif extra.labels is None and extra.name in PROBABILITIES and known:
            found.append("uniform from 0 to 1")
        else:
            found += laws_in_words(laws, positive=known and extra.labels is None and extra.name in POSITIVE)
    return found


def _scales(one: Grouping) -> list[str]:
    return [] if one.laws is None else laws_in_words(one.laws, positive=True)


def _correlations(one: Grouping) -> list[str]:
    count = 0 if one.laws is None else one.q * (one.q - 1) // 2
    return [f"LKJ({one.correlation:.4g}) of the correlation matrix"] * count


def _notes(base: GLM, groupings: list[Grouping]) -> list[str]:
    found = []
    if "cutpoint" in base.user_family.parameters and base.user_family.parameter_prior("cutpoint") is None:
        found.append("The prior of the cutpoints is for a typical row: means of numbers, reference levels of factors.")
    if base.recentred:
        found.append("In predictors=, the prior of an intercept is for a row whose columns have their means.")
    for one in groupings:
        scale, law = "the standard deviation above", "normal"
        if one.df:
            scale, law = "the scale above", f"Student-t with {one.df:.4g} degrees of freedom,"
        if one.known is not None:
            scale = f"the known {'scale' if one.df else 'standard deviation'} " + ", ".join(
                f"{size:.4g}" for size in np.diag(one.known) ** -0.5
            )
        related = "" if one.related is None else ", times the known covariance among levels"
        found.append(f"The effects of {one.name} ({one.groups:,} levels) are {law} with mean 0 and {scale}{related}.")
    return found
