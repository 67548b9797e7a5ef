"""Parts that several processes compile at the same time: each is made once, and a process that dies costs nothing."""

import os
import subprocess
import sys

import pytest

MINE = """
from tunamh.compiled import Adapt, part

@part(Adapt)
def first(knobs, mean):
    knobs[0] = 1.0

@part(Adapt)
def second(knobs, mean):
    knobs[0] = 2.0

@part(Adapt)
def third(knobs, mean):
    knobs[0] = 3.0

PARTS = [first, second, third]
"""


@pytest.fixture
def run(tmp_path):
    """Run code in a process with a cache of its own."""
    (tmp_path / "mine.py").write_text(MINE)
    environment = {
        **os.environ,
        "NUMBA_CACHE_DIR": str(tmp_path / "cache"),
        "PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]),
    }

    def start(code):
        code = f"from mine import *\nfrom tunamh.compiled.ahead import *\n{code}"
        return subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True, timeout=3600
        ).stdout.split()

    return start


def files(tmp_path, ending):
    return sorted(
        path.name.split("-")[0].removeprefix("mine.") for path in (tmp_path / "cache" / "tunamh").glob(f"*.{ending}")
    )


COMPILED_HERE = "print(*(sum(p.dispatcher.stats.cache_misses.values()) for p in PARTS))"


def test_what_other_processes_made_is_loaded(run, tmp_path):
    """This process waits for the further one before it looks itself, so it compiles nothing."""
    code = f"for one in start(PARTS, processes=1): one.wait()\nfinish(PARTS)\n{COMPILED_HERE}"
    assert run(code) == ["0", "0", "0"]
    assert files(tmp_path, "nbc") == ["first", "second", "third"]
    assert files(tmp_path, "claim") == []


def test_without_further_processes_all_is_compiled_here(run, tmp_path):
    assert run(f"finish(PARTS)\n{COMPILED_HERE}") == ["1", "1", "1"]
    assert run(f"print(len(start(PARTS, processes=2)))\nfinish(PARTS)\n{COMPILED_HERE}") == ["0", "0", "0", "0"]


def test_parts_of_a_process_that_died_are_made_here(run, tmp_path):
    died = "import subprocess\ndead = subprocess.Popen(['true'])\ndead.wait()\n"
    claim = "first.file.with_suffix('.claim').write_text(str(dead.pid))\n"
    assert run(f"{died}{claim}finish(PARTS)\n{COMPILED_HERE}") == ["1", "1", "1"]
    assert files(tmp_path, "claim") == []


def test_a_part_that_a_living_process_has_taken_is_left_to_it(run, tmp_path):
    """Another process, here this one, has taken the first part: the further process makes the others and ends."""
    claim = "import os\nfirst.file.with_suffix('.claim').write_text(str(os.getpid()))\n"
    code = f"{claim}for one in start(PARTS, processes=1): one.wait()\nprint(len(missing(PARTS)))"
    assert run(code) == ["1"]
    assert files(tmp_path, "nbc") == ["second", "third"]


def test_how_many_are_left_is_told(run):
    assert run("finish(PARTS, print)") == ["3", "2", "1"]
