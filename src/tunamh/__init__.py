"""Exact posterior samples from large data. Each step reads only a few rows.

    >>> import tunamh
    >>> model = tunamh.regression("late ~ distance + (1 | airport)", flights, family="logistic")
    >>> posterior = tunamh.sample(model, rng=1)
    >>> tunamh.summary(posterior)

`regression` makes a model from a formula and a table, `GLM` and `MixedModel` from arrays. `sample` draws from the
posterior. `summary`, `predict`, `check`, `loo` and other functions take its result. `tunamh.priors` has the priors,
`tunamh.extend` has the tools for parts of your own.
"""

import ast
import sys
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

from ._version import __version__ as __version__

_ELSEWHERE = {
    "ranef": "group_effects",
    "coef": "group_effects",
    "VarCorr": "group_scales",
    "conditional_effects": "plot_predictions",
    "marginal_effects": "slopes",
    "avg_comparisons": "comparisons",
    "avg_slopes": "slopes",
    "avg_predictions": "predictions",
    "pp_check": "plot_check",
    "posterior_predict": "predict",
    "loo_compare": "compare",
    "bridge_sampler": "evidence",
    "brm": "regression",
    "glmer": "regression",
    "lmer": "regression",
    "glm": "regression",
    "glmmTMB": "regression",
    "stan_glm": "regression",
    "stan_glmer": "regression",
    "gam": "regression",
    "coxph": "regression",
    "survreg": "regression",
    "survfit": "plot_survival",
    "fixef": "summary",
    "icc": "group_scales",
    "fit": "sample",
    "fitted": "predict",
    "posterior_epred": "predict",
    "posterior_linpred": "predict",
    "waic": "loo",
    "emmeans": "predictions",
    "confint": "summary",
    "rhat": "summary",
    "get_prior": "prior_summary",
    "default_prior": "prior_summary",
    "hypotheses": "hypothesis",
    "anova": "compare",
    "kfold": "loo",
    "ICC": "group_scales",
    "varcorr": "group_scales",
    "Bernoulli": "Logistic",
    "Binomial": "Logistic",
    "NegBinomial": "NegativeBinomial",
}
"""Functions of R packages, and what answers the same question here."""


@cache
def _declared() -> tuple[dict[str, tuple[str, str | None]], list[str]]:
    """The module of every public name with its name there, None for a module itself; and ``__all__``.

    Both are declared once, in ``__init__.pyi``, which editors and type checkers read, too. Nothing is imported before
    it is asked for: ``import tunamh`` alone takes a hundredth of a second.
    """
    places: dict[str, tuple[str, str | None]] = {}
    offered: list[str] = []
    for node in ast.parse(Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8")).body:
        match node:
            case ast.ImportFrom(module=str(module)):
                places |= {one.asname or one.name: (f".{module}", one.name) for one in node.names}
            case ast.ImportFrom():
                places |= {one.name: (f".{one.name}", None) for one in node.names}
            case ast.Assign(targets=[ast.Name(id="__all__")]):
                offered = ast.literal_eval(node.value)
    return places, offered


def _found(name: str) -> object:
    module, inside = _declared()[0][name]
    loaded = import_module(module, __name__)
    return loaded if inside is None else getattr(loaded, inside)


def __getattr__(name: str) -> object:
    """Public names, imported when asked for, and families that are not listed here."""
    if name in _declared()[0]:
        value = globals()[name] = _found(name)
        return value
    if not name.startswith("_"):
        if find_spec(f"{__name__}.{name}"):
            return import_module(f".{name}", __name__)
        from .targets.families.registry import FAMILIES

        if name in FAMILIES:
            return FAMILIES[name]
    here = f". Here it is {__name__}.{_ELSEWHERE[name]}" if name in _ELSEWHERE else ""
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}{here}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_declared()[0]})


class _Package(ModuleType):
    """`laplace` and `report` are functions, although packages of these names lie here.

    Python sets a package's attribute when a part of that name is imported. These two stay what they are.
    """

    laplace = property(lambda self: _found("laplace"), lambda self, module: None)
    report = property(lambda self: _found("report"), lambda self, module: None)


sys.modules[__name__].__class__ = _Package
__all__ = _declared()[1]
