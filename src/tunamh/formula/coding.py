"""Which levels of factors get coefficients, so that no column is a sum of others.

A factor of L levels spans a space of L indicator columns: their sum, which is the intercept's, and L - 1 contrasts. A
product of factors spans the products of these parts, one for each subset of its factors. So every term is the sum of
its subsets, of which those that earlier terms span already are left out; what is left is coded with as few blocks as
possible: a block ``b`` in which ``a`` is coded without its reference, together with the same block without ``a``, is
the block in which ``a`` has all its levels. Products with numbers are separate spaces, one for each set of numbers.
"""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

from .syntax import Node, label
from .terms import Term


class Coded(NamedTuple):
    """A factor in a term. If ``full`` is True, every level has a column, otherwise every level but the first."""

    atom: Node
    full: bool


class Block(NamedTuple):
    """Columns that belong to a term: a product of numbers, times the indicators of the levels of factors."""

    term: Term
    numbers: Term
    factors: tuple[Coded, ...]

    @property
    def key(self) -> str:
        """Return a text that identifies this block of columns among all blocks of a formula."""
        parts = [label(atom) for atom in self.numbers]
        return ":".join([*parts, *(f"{label(one.atom)}{'+' * one.full}" for one in self.factors)])


def blocks_of(terms: tuple[Term, ...], intercept: bool, is_factor: dict[str, bool]) -> list[Block]:
    """Return the blocks of columns of the terms, in the order of the terms.

    The first block is the intercept, which has no factors and no numbers.
    """
    all_terms: list[Term] = ([()] if intercept else []) + list(terms)
    spanned: dict[frozenset[str], set[frozenset[str]]] = {}
    found = []
    for term in all_terms:
        factors = [atom for atom in term if is_factor[label(atom)]]
        numbers = tuple(atom for atom in term if not is_factor[label(atom)])
        known = spanned.setdefault(frozenset(map(label, numbers)), set())
        found += [Block(term, numbers, coded) for coded in _codings(factors, known)]
    return found


def _codings(factors: list[Node], known: set[frozenset[str]]) -> list[tuple[Coded, ...]]:
    """What the product of factors adds to what is known, which grows by it."""
    names = [label(atom) for atom in factors]
    new: list[dict[str, bool]] = []
    for size in range(len(names) + 1):
        for subset in combinations(names, size):
            if frozenset(subset) not in known:
                new.append(dict.fromkeys(subset, False))
            known.add(frozenset(subset))
    while _absorb(new):
        pass
    place = dict(zip(names, factors, strict=True))
    return [tuple(Coded(place[name], full) for name, full in one.items()) for one in new]


def _absorb(blocks: list[dict[str, bool]]) -> bool:
    """Join the first block with one that has a factor more, in which this then has all levels; False if none has."""
    for short in blocks:
        for long in blocks:
            if len(long) == len(short) + 1 and all(long.get(name) == full for name, full in short.items()):
                more = next(name for name in long if name not in short)
                if not long[more]:
                    long[more] = True
                    blocks.remove(short)
                    return True
    return False
