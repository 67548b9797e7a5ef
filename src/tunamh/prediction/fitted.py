"""A result of `tunamh.sample`, opened for prediction: its draws, and what is told of its model."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from .._arguments import shown
from ..errors import NotApplicable
from ..formula import FormulaModel
from ..formula.errors import FormulaError
from ..formula.group_names import pair_name
from ..formula.model import GroupSide
from ..formula.right_side import RightSide
from ..formula.terms import term_label
from ..formula.variable_parts import Piece, pieces_of
from ..results.layout import (
    CLASSES,
    COEFFICIENT,
    CORRELATION,
    EFFECT,
    GROUP,
    GROUP_SCALE,
    PARAMETER,
    PREDICTOR,
    ROLE,
    TERM,
)
from ..results.tree import effects_in
from ..targets.families.links import IDENTITY
from ..targets.families.registry import as_family, family_from_json

if TYPE_CHECKING:
    from ..targets.families import BaseFamily
    from ..targets.families.links import Link
    from ..targets.families.responses import ResponseDistribution

MOST_DRAWS = 1000
_PARTS: dict[str, Any] = {"family": {}, "predictors": {}, "factors": {}, "columns": [], "groups": [], "formula": {}}


@dataclass(frozen=True)
class Groups:
    """The effects of one factor: names of levels, effects (draws, levels, columns), their scales and correlations.

    ``effects`` is None if the run did not store draws of the effects. ``given`` is the position of the factor among the
    factors of new rows. ``predictor`` is the number of the class whose predictor contains the effects (None: there are
    no such classes). ``parameter`` is the further parameter whose predictor contains the effects (None: the main
    predictor).
    """

    name: str
    columns: list[str]
    levels: tuple[str, ...]
    effects: np.ndarray | None
    covariance: np.ndarray
    given: int
    predictor: int | None = None
    df: float = 0.0  # of Student-t effects, ``covariance`` being that of their normal part
    parameter: str | None = None
    related: bool = False  # levels have a known covariance


def kept_responses(result: Any) -> Any:
    """Return the responses in a result, by row number. Return None if the responses are classes with names."""
    found = result["observed_data"].data_vars if "observed_data" in getattr(result, "children", ()) else {}
    variables = [one for one in found.values() if "classes" not in one.attrs and one.dtype.kind in "fiu"]
    return variables[0] if len(variables) == 1 and variables[0].dims == ("row",) else None


@dataclass(frozen=True)
class Fitted:
    """The draws of a result, from all chains in one array, and the description of its model."""

    posterior: Any
    about: dict[str, Any]
    picked: np.ndarray
    user_family: Any = None
    """A family of the user's own, of which results have nothing but the text."""
    kept: Any = None
    """Responses that the result keeps (`kept_responses`)."""

    @classmethod
    def open(cls, tree: Any, draws: int | None, family: Any = None, *, by_chain: bool = False) -> Fitted:
        """Open a result for predictions.

        ``draws`` is the number of draws that are used, evenly spread over the chains (None: at most 1000). If
        ``by_chain`` is True, the same draws are used from every chain, at least one.
        """
        try:
            posterior = tree["posterior"]
            text = posterior.attrs["model"]
            about = json.loads(text)
            kinds = [(about.get(key, empty), type(empty)) for key, empty in _PARTS.items()]
            if int(about["dim"]) < 0 or not all(part is None or isinstance(part, kind) for part, kind in kinds):
                raise ValueError
            if not isinstance(about["family"], dict):
                raise ValueError
            for one in about.get("groups") or ():
                if not isinstance(one["name"], str) or not isinstance(one["columns"], list) or int(one["levels"]) < 1:
                    raise ValueError
        except (KeyError, TypeError, AttributeError, ValueError, OverflowError, RecursionError):
            opened = " Open a file by xarray.open_datatree, the folder of a stored run by tunamh.read_store."
            raise NotApplicable(
                "prediction needs the result of tunamh.sample for a regression (with draws, and with the attribute "
                f"'model' of the group 'posterior'), got {shown(tree)}." + opened * isinstance(tree, str | PathLike)
            ) from None
        total = posterior.sizes["chain"] * posterior.sizes["draw"]
        wanted = min(total, MOST_DRAWS if draws is None else draws)
        chains, each = posterior.sizes["chain"], posterior.sizes["draw"]
        if by_chain:
            own = _spread(each, max(1, wanted // chains))
            picked = (each * np.arange(chains)[:, None] + own).ravel()
        else:
            picked = _spread(total, wanted)
        return cls(posterior, about, picked, _checked_family(family, about["family"]), kept_responses(tree))

    @cached_property
    def data_rows(self) -> int | None:
        """Return the number of rows of the fit, or None if the result does not contain it."""
        try:
            return int(json.loads(self.posterior.attrs["settings"])["data_rows"])
        except (KeyError, TypeError, ValueError, RecursionError):
            return None

    @cached_property
    def formula(self) -> FormulaModel | None:
        found = self.about.get("formula")
        return None if found is None else FormulaModel.from_json(found)

    @cached_property
    def family(self) -> BaseFamily | None:
        """Return the family, or None for a user's own family that was not passed again.

        Results contain no code, so they do not contain such a family.
        """
        return family_from_json(self.about["family"]) if self.user_family is None else self.user_family

    @property
    def data_columns(self) -> tuple[str, ...]:
        """Return the names of the data columns that are arguments of a user's own energy."""
        return tuple(map(str, self.about.get("data_columns", ())))

    @property
    def named_predictors(self) -> tuple[str, ...]:
        """Return the names of the predictors of a `tunamh.nonlinear` model; for other models an empty tuple."""
        return tuple(map(str, self.about.get("named_predictors", ())))

    @cached_property
    def responses(self) -> ResponseDistribution:
        """Return the distribution of a response given its parameters."""
        found = None if self.family is None else self.family.response_distribution()
        if found is None:
            text = self.about["family"].get("text", "the family")
            raise NotApplicable(
                f"{text} is your own likelihood, and a result does not contain its code: pass the family again, "
                "family=..., or use kind='linear' for linear predictors."
            )
        return found

    def link_of(self, parameter: str) -> Link:
        """Return the link of a parameter that has a predictor."""
        return IDENTITY if self.family is None else self.family.parameter_links.get(parameter, IDENTITY)

    @property
    def per_class(self) -> bool:
        """Return True if every class except one has its own coefficients."""
        return self.family is not None and self.family.coefficients_per_class

    @cached_property
    def classes(self) -> np.ndarray | None:
        """Return the classes of the response as the data have them, whole numbers or text; None for other responses."""
        names = self.about.get("classes")
        if names is None:
            return None
        try:
            return np.array([int(name) for name in names])
        except ValueError:
            return np.array(list(map(str, names)))

    def draws(self, variable: str, of_class: int | None = None) -> np.ndarray:
        """Return the draws of a variable that are used for predictions: an array (draws, ...).

        If group effects differ between classes, ``of_class`` says for which class they are returned.
        """
        found = self.posterior[variable]
        if of_class is not None:
            found = found.isel({found.attrs[CLASSES]: of_class})
        values = np.asarray(found.transpose("chain", "draw", ...).values, dtype=np.float64)
        return values.reshape(-1, *values.shape[2:])[self.picked]

    def picked_posterior(self) -> Any:
        """Return the draws that are used for predictions, without group effects, because these may be very many.

        The draws have the same numbers in every chain.
        """
        import xarray

        kept = self.posterior.to_dataset() if isinstance(self.posterior, xarray.DataTree) else self.posterior
        kept = kept.drop_vars(effects_in(kept))
        kept = kept.isel(draw=self.picked[: len(self.picked) // kept.sizes["chain"]])
        used = {dim for values in kept.data_vars.values() for dim in values.dims}
        return kept.drop_dims([dim for dim in kept.dims if dim not in used])

    @cached_property
    def _by_term(self) -> dict[tuple[str, ...], str]:
        """The variables of a formula's result, by what their attributes say of them."""
        found = {}
        for name, values in self.posterior.data_vars.items():
            key = tuple(str(values.attrs.get(one, "")) for one in (ROLE, TERM, PREDICTOR, GROUP))
            found[key] = str(name)
        return found

    def _of_term(
        self, role: str, term: str, predictor: str = "", group: str = "", of_class: int | None = None
    ) -> np.ndarray:
        name = self._by_term.get((role, term, predictor, group))
        if name is None:
            where = "".join(f" of {one}" for one in (predictor, group) if one)
            raise FormulaError(
                f"the result has no variable whose attributes say that it is the {role} {term!r}{where}: predict from "
                "the result as tunamh.sample returned it, or from a file that it was saved to."
            )
        return self.draws(name, of_class)

    def coefficients(self, side: RightSide, of: str = "") -> np.ndarray:
        """Return the coefficients (draws, columns) of a right side.

        With classes, those of the first class come first.
        """
        parts = []
        for piece in pieces_of(side):
            own = self._of_term(COEFFICIENT, piece.name, of)
            parts.append(own[:, None] if piece.labels is None else own)
        if not parts:
            return np.empty((len(self.picked), 0))
        whole = np.concatenate(parts, axis=1)
        return whole if whole.ndim == 2 else whole.transpose(0, 2, 1).reshape(len(whole), -1)

    @cached_property
    def theta(self) -> np.ndarray:
        found = self.draws("theta") if self.formula is None else self.coefficients(self.formula.side)
        dim = int(self.about["dim"])
        if found.shape[1] != dim and (dim == 0 or found.shape[1] % dim):
            raise FormulaError(
                f"the result has {found.shape[1]} coefficients, which do not fit its model's {dim} columns."
            )
        return found

    def further(self, name: str) -> np.ndarray:
        """Return the coefficients (draws, columns) in the predictor of a further parameter."""
        return self.draws(name) if self.formula is None else self.coefficients(self.formula.others[name], name)

    @cached_property
    def parameters(self) -> dict[str, Any]:
        """Return the parameters of the family that have no predictor: known numbers, or draws of shape (draws, 1)."""
        if self.family is None:
            return {}
        found: dict[str, Any] = dict(self.family.known_parameters())
        for name in self.family.parameters:
            called = name if self.formula is None else self._by_term.get((PARAMETER, name, "", ""))
            if called in self.posterior and name not in self.about["predictors"]:
                values = self.draws(str(called))
                found[name] = values[:, None] if values.ndim == 1 else values[:, None, :]
        return found

    @cached_property
    def groups(self) -> list[Groups]:
        wanted = self.about.get("groups") or []
        if self.formula is None:
            return self._plain_groups(wanted)
        sides, places = self.formula.groups, [int(one.get("given", k)) for k, one in enumerate(wanted)]
        if sorted(set(places)) != list(range(len(sides))):
            raise FormulaError(f"the result has the factors {places} of groups, its formula {len(sides)} factors.")
        return [self._group(sides[k], one, k) for k, one in zip(places, wanted, strict=True)]

    def _group(self, side: GroupSide, about: dict[str, Any], given: int) -> Groups:
        """One factor of a formula, of one class: a variable for each term of its effects."""
        pieces, group = pieces_of(side.columns), term_label(side.by)
        of_class = None if about.get("predictor") is None else int(about["predictor"])
        names = [self._by_term.get((EFFECT, piece.name, side.of or "", group)) for piece in pieces]
        effects: np.ndarray | None = None
        levels: tuple[str, ...] = ()
        if None not in names:
            first = self.posterior[names[0]]
            last = [dim for dim in first.dims if dim != first.attrs.get(CLASSES)][-1]
            levels = tuple(str(level) for level in self.posterior[last].values)
            parts = [
                _columns(self.draws(str(name), of_class), piece) for name, piece in zip(names, pieces, strict=True)
            ]
            effects = np.concatenate(parts, axis=1).transpose(0, 2, 1)
        columns = [str(column) for column in about["columns"]]
        covariance = self._formula_covariance(side, about.get("known"), of_class)
        df = float(about.get("df", 0.0))
        related = bool(about.get("related", False))
        return Groups(side.name, columns, levels, effects, covariance, given, of_class, df, side.of, related)

    def _formula_covariance(self, side: GroupSide, known: Any, of_class: int | None) -> np.ndarray:
        pieces, where = pieces_of(side.columns), (side.of or "", term_label(side.by), of_class)
        q, n = sum(piece.size for piece in pieces), len(self.picked)
        if known is not None:
            return _known_covariance(known, n, q)
        scales = np.concatenate(
            [_columns(self._of_term(GROUP_SCALE, piece.name, *where), piece) for piece in pieces], axis=1
        )
        correlation = np.broadcast_to(np.eye(q), (n, q, q)).copy()
        ends = np.cumsum([piece.size for piece in pieces])
        for t, second in enumerate(pieces):
            here = slice(ends[t] - second.size, ends[t])
            for s, first in enumerate(pieces[:t]):
                own = self._of_term(CORRELATION, pair_name(first, second), *where)
                there = slice(ends[s] - first.size, ends[s])
                correlation[:, there, here] = own.reshape(n, first.size, second.size)
                correlation[:, here, there] = correlation[:, there, here].transpose(0, 2, 1)
            if second.size > 1:
                a, b = np.triu_indices(second.size, 1)
                own = self._of_term(CORRELATION, pair_name(second, second), *where)
                correlation[:, here, here][:, a, b] = correlation[:, here, here][:, b, a] = own
        return scales[:, :, None] * correlation * scales[:, None, :]

    def _plain_groups(self, wanted: list[dict[str, Any]]) -> list[Groups]:
        found, at = [], 0
        kept = "group_effect" in self.posterior and bool(wanted)
        effects = self.draws("group_effect") if kept else None
        for k, one in enumerate(wanted):
            name, columns, count = str(one["name"]), [str(c) for c in one["columns"]], int(one["levels"])
            q = len(columns)
            mine = None if effects is None else effects[:, at : at + count * q].reshape(-1, count, q)
            levels = tuple(map(str, one.get("level_names", ())))
            covariance, predictor = self._covariance(name, columns, one.get("known")), one.get("predictor")
            given, of_class = int(one.get("given", k)), None if predictor is None else int(predictor)
            df, parameter = float(one.get("df", 0.0)), one.get("parameter")
            of = None if parameter is None else str(parameter)
            related = bool(one.get("related", False))
            found.append(Groups(name, columns, levels, mine, covariance, given, of_class, df, of, related))
            at += count * q
        return found

    def _covariance(self, name: str, columns: list[str], known: Any) -> np.ndarray:
        """(draws, columns, columns), by the names of scales and correlations."""
        q, n = len(columns), len(self.picked)
        if known is not None:
            return _known_covariance(known, n, q)
        scales = self._named("group_scale", [f"{name}: {column}" if column else name for column in columns])
        correlation = np.broadcast_to(np.eye(q), (n, q, q)).copy()
        for i in range(q):
            for j in range(i):
                own = self._named("group_correlation", [f"{name}: {columns[i]}, {columns[j]}"])[:, 0]
                correlation[:, i, j] = correlation[:, j, i] = own
        return scales[:, :, None] * correlation * scales[:, None, :]

    def _named(self, variable: str, labels: list[str]) -> np.ndarray:
        there = [str(text) for text in self.posterior[f"{variable}_parameter"].values]
        return self.draws(variable)[:, [there.index(text) for text in labels]]


def _spread(n: int, wanted: int) -> np.ndarray:
    """Evenly spaced numbers from 0 to ``n - 1``."""
    return np.unique(np.linspace(0, n - 1, wanted).round().astype(np.int64))


def _checked_family(given: Any, known: dict[str, Any]) -> Any:
    """A family that may take the place of the one that a result names."""
    if given is None:
        return None
    family = as_family(given)
    if known.get("name") is not None:
        raise TypeError(f"the result has its own family, {known.get('text')}: leave family= out.")
    if repr(family)[:200] != known.get("text"):
        raise ValueError(f"the result is of the family {known.get('text')}, got {family!r}.")
    return family


def _columns(values: np.ndarray, piece: Piece) -> np.ndarray:
    """(draws, columns of the piece, ...)."""
    return values[:, None] if piece.labels is None else values


def _known_covariance(known: Any, n: int, q: int) -> np.ndarray:
    return np.broadcast_to(np.diag(np.square(np.asarray(known, dtype=np.float64))), (n, q, q))
