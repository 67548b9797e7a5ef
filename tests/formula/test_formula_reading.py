"""Formulas are read as written, and nothing else is."""

import contextlib
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tunamh
from tunamh.formula import FormulaError, parse
from tunamh.formula.parser import parse_expression
from tunamh.formula.syntax import Call, Name, Number, Operation, Text
from tunamh.formula.terms import term_label, terms_of


def terms(text, others=()):
    found = terms_of(parse(text).right, list(others))
    return [*(["1"] if found.has_intercept else []), *(term_label(term) for term in found.fixed)]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("y ~ a + b", ["1", "a", "b"]),
        ("y ~ 0 + a", ["a"]),
        ("y ~ a - 1", ["a"]),
        ("y ~ -1 + a", ["a"]),
        ("y ~ a + 0", ["a"]),
        ("y ~ a - 0", ["1", "a"]),
        ("y ~ 1", ["1"]),
        ("y ~ a*b", ["1", "a", "b", "a:b"]),
        ("y ~ a:b + a", ["1", "a", "a:b"]),
        ("y ~ a:b + b:a", ["1", "a:b"]),
        ("y ~ a*b - a:b", ["1", "a", "b"]),
        ("y ~ a*b - b:a", ["1", "a", "b"]),
        ("y ~ a/b", ["1", "a", "a:b"]),
        ("y ~ (a + b)/c", ["1", "a", "b", "a:b:c"]),
        ("y ~ (a + b + c)**2", ["1", "a", "b", "c", "a:b", "a:c", "b:c"]),
        ("y ~ (a + b)^2", ["1", "a", "b", "a:b"]),
        ("y ~ a*b*c - a:b:c", ["1", "a", "b", "c", "a:b", "a:c", "b:c"]),
        ("y ~ a:a", ["1", "a"]),
        ("y ~ log(x + 1) + I(x**2 - 3)", ["1", "log(x + 1)", "I(x**2 - 3)"]),
        ("y ~ C(g, ref='b') + (x > 3)", ["1", 'C(g, ref="b")', "x > 3"]),
        ("y ~ `odd name` + Größe + Sepal.Length", ["1", "odd name", "Größe", "Sepal.Length"]),
        ("y~a+b", ["1", "a", "b"]),
    ],
)
def test_terms(text, wanted):
    assert terms(text) == wanted


def test_dot_stands_for_the_other_columns():
    assert terms("y ~ .", ["a", "b"]) == ["1", "a", "b"]
    assert terms("y ~ . - a", ["a", "b"]) == ["1", "b"]


def test_groups_and_offsets():
    found = terms_of(parse("y ~ x + (1 | g) + (x | a/b) + (0 + x || g) + offset(log(t))").right)
    assert [(term_label(one.by), one.columns.has_intercept, one.together) for one in found.groups] == [
        ("g", True, True),
        ("a", True, True),
        ("a:b", True, True),
        ("g", False, False),
    ]
    assert [str(node) for node in found.offsets] == ["log(t)"]


names = st.sampled_from(["a", "b", "x.y", "odd name", "Größe", "if", "__import__"]).map(Name)
numbers = st.sampled_from(["0", "1", "2", "1.5", "2e3", ".5"]).map(Number)
arithmetic = st.recursive(
    names | numbers,
    lambda inner: (
        st.builds(Operation, st.sampled_from(["+", "-", "*", "/", "**"]), inner, inner)
        | st.builds(lambda one: Operation("-", None, one), inner)
        | st.builds(lambda name, one: Call(name, (one,)), st.sampled_from(["log", "I", "center"]), inner)
        | st.builds(lambda one, text: Operation("==", one, Text(text)), names, st.sampled_from(["AA", "it's", 'a "b"']))
    ),
    max_leaves=12,
)


@given(arithmetic)
@settings(max_examples=300, deadline=None)
def test_what_is_written_reads_back_as_itself(node):
    assert parse_expression(str(node)) == node


@given(st.text(alphabet="ab~+-*:/()|^01.,=<>`'\" \\_[]{}@#$éC;\n", max_size=40))
@settings(max_examples=500, deadline=None)
def test_any_text_is_read_or_refused_in_words(text):
    with contextlib.suppress(FormulaError):
        terms_of(parse(text).right)


DANGEROUS = [
    "y ~ __import__('os').system('true')",
    "y ~ exec('1')",
    "y ~ eval(x)",
    "y ~ open('file')",
    "y ~ x.__class__()",
    "y ~ (lambda: 1)()",
    "y ~ [c for c in x]",
    "y ~ x; import os",
    "y ~ {x!r}",
    "y ~ np.log(x)",
    "y ~ log.__globals__",
    "y ~ x if 1 else 2",
    "y ~ C(x, contr.treatment(1))",
    "y ~ x := 3",
    "y ~ f'{x}'",
    "y ~ @tunamh(x)",
    "y ~ log(x)(2)",
    "y ~ x[0]",
    "__import__('os') ~ x",
]


@pytest.mark.parametrize("text", DANGEROUS)
def test_code_is_refused(text):
    """Attributes are no syntax: ``log.__globals__`` is at most the name of a column that no table has."""
    try:
        found = terms_of(parse(text).right)
    except FormulaError:
        return
    assert text == "y ~ log.__globals__"
    assert found.fixed == ((Name("log.__globals__"),),)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "empty"),
        ("late", "no ~"),
        ("y = a", "write ~, not =, in the formula:\n    y = a\n      ^"),
        ("y ~", "something is missing"),
        ("y ~ a ~ b", "second ~"),
        ("y ~ a b", "operator should be (a column with spaces in its name is written in backticks: `a b`)"),
        ("y ~ log(a b)", "')' is missing (a column with spaces in its name is written in backticks: `a b`)"),
        ("y ~ 'a b'", "the name of a column is written in backticks, `a b`"),
        ("y ~ a +", "something is missing"),
        ("y ~ (a", "')' is missing"),
        ("y ~ 3", "3 is not a term"),
        ("y ~ 2*x", "write arithmetic inside I"),
        ("y ~ sine(x)", "a column with such a name is written in backticks"),
        ("y ~ x ** 1.5", "whole number"),
        ("y ~ x ** 99", "whole number"),
        ("y ~ trials(n)", "left side"),
        ("y ~ a*(1 | g)", "but not multiplied"),
        ("y ~ (1 | log(g))", "column of groups"),
        ("y ~ (1 | g | h)", "one bar"),
        ("y ~ offset(a, b)", "one expression"),
        ("y ~ " + "(" * 100 + "a" + ")" * 100, "inside each other"),
        ("y ~ " + "-" * 5000 + "a", "inside each other"),
        ("y ~ " + "a + " * 60_000 + "a", "characters"),
        ("y ~ (" + " + ".join(f"a{i}" for i in range(40)) + ")**9", "terms"),
    ],
)
def test_what_cannot_be_read_is_told(text, said):
    with pytest.raises(FormulaError, match=re.escape(said)):
        terms_of(parse(text).right)


def test_a_formula_is_a_text():
    with pytest.raises(TypeError, match="text such as"):
        parse(3)


@pytest.mark.parametrize(
    ("written", "hint"),
    [
        ("y ~ x + x^2", r"I\(x\*\*2\)"),
        ("cbind(k, n - k) ~ x", r"k \| trials\(n\)"),
        ("y ~ factor(g)", r"C\(x\)"),
        ("y ~ C(g, Treatment('b'))", r"C\(x, ref="),
        ("y ~ np.log(x)", r"write log\(x\)"),
        ('y ~ Q("x")', "backticks"),
    ],
)
def test_other_spellings_are_answered_with_the_one_that_is_known_here(written, hint):
    table = {"y": [0.0, 1.0, 1.0], "x": [1.0, 2.0, 4.0], "g": ["a", "b", "a"], "k": [1, 2, 3], "n": [4, 4, 4]}
    with pytest.raises(tunamh.FormulaError, match=hint):
        tunamh.regression(written, table, family=tunamh.Gaussian())
