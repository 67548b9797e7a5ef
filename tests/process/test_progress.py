"""What a person sees: set-up pass by pass, the choice, how it ended."""

import os
import signal
import sys
import threading
import time
import types

import numpy as np
import pytest

import tunamh
from conftest import logistic_data
from tunamh import LogisticRegression, sample
from tunamh.process import progress
from tunamh.process.stages import announce, watching
from tunamh.rows.passes import ROWS_AT_ONCE, over_blocks
from tunamh.sampling.clock import Clock

X, Y = logistic_data(2000, 3)
ROWS = 3 * ROWS_AT_ONCE + 5


@pytest.fixture(scope="module")
def target():
    return LogisticRegression(X, Y)


@pytest.fixture
def lines(capsys, monkeypatch):
    """What is written to stderr, a line for every update."""
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setattr(progress, "_SECONDS_BETWEEN_LINES", 0.0)
    return lambda: capsys.readouterr().err.splitlines()


def one_pass():
    return list(over_blocks(lambda block: block.stop - block.start, ROWS))


def test_passes_report_to_whoever_watches():
    reports = []
    with watching(reports.append):
        announce("looking for the mode")
        assert sum(one_pass()) == ROWS
        announce("adding up bounds")
        one_pass()
    one_pass()  # nobody watches any more
    assert reports[0] == ("looking for the mode", 0, 0.0, 0, None)
    assert [report.share for report in reports[1:6]] == [0.0, *(k * ROWS_AT_ONCE / ROWS for k in (1, 2, 3)), 1.0]
    assert reports[-1] == ("adding up bounds", 2, 1.0, 2 * ROWS, None)


def test_a_watcher_may_end_a_pass():
    def stop(report):
        if report.share > 0.5:
            raise TimeoutError

    with watching(stop), pytest.raises(TimeoutError):
        list(over_blocks(lambda block: block.start, 100 * ROWS_AT_ONCE))
    assert sum(one_pass()) == ROWS  # the threads are free again


def test_set_up_counts_in_max_seconds(target, monkeypatch):
    over = threading.Event()
    monkeypatch.setattr(Clock, "over", property(lambda clock: over.is_set()))

    def long(target):
        announce("taking long")
        for _ in over_blocks(lambda block: over.set(), 200 * ROWS_AT_ONCE):
            pass
        return target

    with pytest.raises(tunamh.NoDraws, match=r"during set-up \(taking long\), in pass 1"):
        sample(target, test=tunamh.MH(), control=long, max_seconds=1e6, rng=1)


@pytest.mark.parametrize("compiled", [1000.0, 0.0], ids=["compiling", "else"])
def test_compiling_does_not_count_in_max_seconds(target, monkeypatch, compiled):
    """A thousand seconds pass in a set-up, all of them with compiling, or none."""
    from tunamh.compiled import compiler as _compile

    later = types.SimpleNamespace(monotonic=lambda: time.monotonic() + 1000.0)

    def takes_long(target):
        monkeypatch.setattr("tunamh.sampling.clock.time", later)
        monkeypatch.setattr(_compile._clock, "seconds", _compile._clock.seconds + compiled)
        one_pass()
        return target

    settings = {"test": tunamh.MH(), "control": takes_long, "draws": 10, "tune": 10, "max_seconds": 900.0, "rng": 1}
    if compiled:
        assert sample(target, **settings).posterior["theta"].shape[1] == 10
    else:
        with pytest.raises(tunamh.NoDraws, match="during set-up"):
            sample(target, **settings)


def test_ctrl_c_during_set_up_is_a_keyboard_interrupt(target, hears_ctrl_c):
    def interrupted(target):
        for number in over_blocks(lambda block: block.start, 10 * ROWS_AT_ONCE):
            if number:
                os.kill(os.getpid(), signal.SIGINT)
                time.sleep(0.02)
        return target

    with pytest.raises(KeyboardInterrupt):
        sample(target, test=tunamh.MH(), control=interrupted, rng=1)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_set_up_is_shown_pass_by_pass_with_an_estimate(target, lines):
    def two_passes(target):
        announce("looking for the mode")
        for _ in range(2):
            list(over_blocks(lambda block: time.sleep(0.01), target.n_rows))
        return target

    sample(target, test=tunamh.MH(), control=two_passes, draws=10, tune=10, rng=1)
    set_up = [line for line in lines() if line.startswith("set-up: ")]
    assert any("looking for the mode, pass 1, 100%" in line for line in set_up)
    shown = next(line for line in set_up if "pass 2, 100%" in line)
    assert shown.startswith("set-up: 25% after")
    assert "s left; looking for the mode" in shown


def test_after_the_passes_that_are_foreseen_nobody_knows_how_many_are_left(target, lines):
    def many_passes(target):
        announce("expanding every row")
        for _ in range(9):
            list(over_blocks(lambda block: time.sleep(0.01), target.n_rows))
        return target

    sample(target, test=tunamh.MH(), control=many_passes, draws=10, tune=10, rng=1)
    shown = next(line for line in lines() if "pass 9, 100%" in line)
    assert "time left unknown; expanding every row" in shown
    assert "about" not in shown
    cell = progress.NotebookCell()
    cell.update(None, "pass 9")
    assert '<progress max="1"' in cell._html()


def test_the_choice_comes_in_words_and_the_end_in_numbers(target, lines):
    tree = sample(target, draws=200, tune=100, rng=1)
    shown = lines()
    why = tree.posterior.attrs["choice"].split(": ", 1)[1]
    assert why in shown
    assert not any("Autoregressive(" in line for line in shown)
    assert "Autoregressive(" in tree.posterior.attrs["choice"]
    assert shown[-1].startswith("800 draws in ")
    assert "worst of 3 parameters: " in shown[-1]
    assert "effective draws (theta[" in shown[-1]
    rows = float(tree.sample_stats["batch_size"].sum())
    assert f"{rows:,.0f} rows read, {rows / 800:,.3g} per draw, {rows / 2000:,.3g} passes over the data" in shown[-1]


def test_silence_where_it_is_asked_for(target, lines):
    sample(target, draws=200, tune=100, rng=1, progressbar=False)
    assert lines() == []


def test_a_broken_pipe_ends_progress_not_the_run(target, lines, monkeypatch):
    class Broken:
        def isatty(self):
            return False

        def write(self, text):
            raise BrokenPipeError

        def flush(self):
            pass

    monkeypatch.setattr("sys.stderr", Broken())
    assert np.isfinite(sample(target, draws=20, tune=10, rng=1).posterior["theta"]).all()


class FakeNotebook:
    """As much of IPython as a kernel shows: outputs that can be updated."""

    def __init__(self, monkeypatch, broken=False):
        self.outputs, self.broken = [], broken
        shell = types.SimpleNamespace(kernel=object())
        ipython, shown = types.ModuleType("IPython"), types.ModuleType("IPython.display")
        ipython.get_ipython, shown.display = lambda: shell, self.display
        monkeypatch.setitem(sys.modules, "IPython", ipython)
        monkeypatch.setitem(sys.modules, "IPython.display", shown)
        monkeypatch.delenv("CI", raising=False)

    def display(self, data, raw, display_id):
        if self.broken:
            raise OSError("the front end is gone")
        self.outputs.append([data])
        return types.SimpleNamespace(update=lambda data, raw: self.outputs[-1].append(data))


def test_a_notebook_has_one_output_that_is_updated(target, monkeypatch, capsys):
    notebook = FakeNotebook(monkeypatch)
    sample(target, draws=200, rng=1)
    (states,) = notebook.outputs
    assert any("<progress" in state["text/html"] for state in states[:-1])
    assert "<progress" not in states[-1]["text/html"]
    assert states[-1]["text/plain"].splitlines()[-1].startswith("800 draws in")
    assert capsys.readouterr().err == ""
    with progress.Progress("<b>x</b>") as shown:
        shown.say("<script>")
        shown.update(0.5, "y")
        assert "<b>" not in notebook.outputs[-1][-1]["text/html"]
    assert notebook.outputs[-1][-1]["text/html"] == "<div>&lt;script&gt;</div>"


def test_a_notebook_that_breaks_costs_no_draws(target, monkeypatch):
    FakeNotebook(monkeypatch, broken=True)
    assert sample(target, draws=100, rng=1).posterior.sizes["draw"] == 100
