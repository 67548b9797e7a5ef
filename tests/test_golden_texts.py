"""Golden texts: what people read about five models, which a change of the code's shape must not touch.

    python tests/test_golden_texts.py --write            all
    python tests/test_golden_texts.py --write NAME ...   those only

writes the texts of today's code: the summary, the lines of a run, warnings, the report, and what the run wrote down
about its settings. Times, dates and versions are left out. On a machine that has not written them numbers may round
otherwise, so that there only words are compared.
"""

import contextlib
import io
import json
import os
import re
import sys
import tempfile
import warnings
from html.parser import HTMLParser
from pathlib import Path
from unittest import mock

import pandas as pd
import pytest

import golden_models as models
import tunamh
from golden_models import MACHINE, SEED

FILE = Path(__file__).parent / "golden_texts.json"


def logistic():
    columns = models.TABLE[["x", "z", "place"]].astype({"place": "category"})
    return tunamh.LogisticRegression(columns, models.LABELS)


def robust():
    columns = pd.DataFrame(models.X, columns=["one", "x", "z"])
    return tunamh.RobustRegression(columns, models.REALS, prior=tunamh.Normal(scale=10.0))


MODELS = {
    "logistic regression": logistic,
    "groups by formula": models.FORMULAS["groups"],
    "ordinal": models.FORMULAS["ordinal"],
    "zero-inflated with predictors": models.FORMULAS["inflated"],
    "robust regression": robust,
}

_TIME = re.compile(r"\b\d[\d.,]*(?:e[+-]?\d+)? (ms|s|min|h)\b")
_OF_THIS_MOMENT = re.compile(r"\d% after |^compiling\b|per second")
_NUMBER = re.compile(r"[-+\N{MINUS SIGN}]?\d+(?:[.,]\d+)*(?:e[+-]?\d+)?")

_WORST = re.compile(
    r"(effective draws|R-hat #) \([^)]*\)|(?<=that of )\S+(?=[.,])|(?<=#\|g)(?:_sigma|\[g#\])"
    r"|^\S+ (?=the parameter with the)"
)  # which parameter is the worst

_FINGERPRINT = re.compile(r"\b(?=[0-9]*[a-f])[0-9a-f]{16}\b")  # digits alone are a number


def without_times(text):
    """Lines; those that come or go with the speed of the machine are left out."""
    lines = (_TIME.sub(r"<time> \1", line.rstrip()) for line in text.splitlines())
    return [line for line in lines if line and not _OF_THIS_MOMENT.search(line)]


class Page(HTMLParser):
    """A report's headings, tables and sentences, a line each; no pictures, and no times."""

    _LINES = frozenset(
        ["h1", "h2", "h3", "p", "li", "tr", "div", "figcaption", "summary", "label", "footer", "section"]
    )
    _CELLS = frozenset(["td", "th", "dt", "dd", "span", "strong", "small"])
    _LEFT_OUT = frozenset(["head", "script", "style", "svg"])
    _CLASSES_LEFT_OUT = frozenset(("made", "stages"))

    def __init__(self, page):
        super().__init__()
        self.text, self._inside, self._depth = "", "", 0
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        if self._inside:
            self._depth += tag == self._inside
        elif tag in self._LEFT_OUT or given.get("class") in self._CLASSES_LEFT_OUT:
            self._inside, self._depth = tag, 1
        elif tag in self._LINES:
            self.text += "\n"
        elif tag in self._CELLS:
            self.text += " "
        if not self._inside and tag == "button" and given.get("title"):
            self.text += f"({given['title']}) "

    def handle_endtag(self, tag):
        if not self._inside:
            self.text += "\n" if tag in self._LINES else " " if tag in self._CELLS else ""
        elif tag == self._inside:
            self._depth -= 1
            self._inside = self._inside if self._depth else ""

    def handle_data(self, data):
        self.text += "" if self._inside else re.sub(r"\s+", " ", data)

    @property
    def lines(self):
        return "\n".join(" ".join(line.split()) for line in self.text.splitlines())


def run_of(name):
    """The draws, the lines on the way and the warnings."""
    said = io.StringIO()
    with mock.patch.dict(os.environ), warnings.catch_warnings(record=True) as warned, contextlib.redirect_stderr(said):
        os.environ.pop("CI", None)  # where there are no lines
        warnings.simplefilter("always")
        tree = tunamh.sample(MODELS[name](), draws=200, tune=200, chains=2, rng=SEED)
    ours = [f"{one.category.__name__}: {one.message}" for one in warned if issubclass(one.category, UserWarning)]
    return tree, said.getvalue(), "\n".join(ours)


def summary_of(tree):
    with pd.option_context("display.width", 200, "display.max_columns", None, "display.max_rows", None):
        return str(tunamh.summary(tree))


def report_of(tree):
    with tempfile.TemporaryDirectory() as folder:
        return Page(tunamh.report(tree, Path(folder) / "report.html").read_text(encoding="utf-8")).lines


def settings_of(tree):
    """As attributes have them, times left out."""
    found = json.loads(tree.posterior.attrs["settings"])
    found.pop("seconds")
    found["set_up"]["stages"] = list(found["set_up"]["stages"])
    lines = [f"{key}: {json.dumps(value)}" for key, value in found.items()]
    return "\n".join([*lines, f"choice: {tree.posterior.attrs['choice']}", f"model: {tree.posterior.attrs['model']}"])


def texts_of(name):
    tree, said, warned = run_of(name)
    texts = {
        "summary": summary_of(tree),
        "lines": said,
        "warnings": warned,
        "report": report_of(tree),
        "settings": settings_of(tree),
    }
    return {part: without_times(text) for part, text in texts.items()}


def words(lines):
    """No numbers, no fingerprints of data, which were made by sums, and nothing that other digits of draws turn: which
    parameter is the worst, whether Laplace's approximation is accurate enough.
    """
    lines = [line for line in lines if "Laplace" not in line]
    plain = [" ".join(_NUMBER.sub("#", _FINGERPRINT.sub("#", line)).split()) for line in lines]
    return [_WORST.sub(lambda found: found[1] or "", line) for line in plain]


@pytest.mark.parametrize("name", MODELS)
def test_texts_are_the_golden_ones(name):
    golden = json.loads(FILE.read_text(encoding="utf-8"))[name]
    found = texts_of(name)
    seen = list if golden.pop("machine") == MACHINE else words
    assert list(found) == list(golden)
    for part, lines in found.items():
        assert seen(lines) == seen(golden[part]), part


def test_times_are_left_out_and_other_numbers_stay():
    assert without_times("400 draws in 0.35 s; 1,200 rows\ncompiling, which\n4 chains: 12% after 5 s") == [
        "400 draws in <time> s; 1,200 rows"
    ]


if __name__ == "__main__":
    stored = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}
    given = [one for one in sys.argv[1:] if one != "--write"] or list(MODELS)
    if "--write" in sys.argv:
        stored |= {one: {"machine": MACHINE, **texts_of(one)} for one in given}
        kept = {one: stored[one] for one in MODELS if one in stored}
        FILE.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    else:
        for one in given:
            same = {"machine": stored[one]["machine"], **texts_of(one)} == stored[one]
            print("same" if same else "DIFFERENT", "|", one)
