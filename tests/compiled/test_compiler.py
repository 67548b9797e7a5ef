"""While something is compiled, Python does not search for garbage by itself; afterwards all is as before."""

import gc
import os
import sys
import weakref

import pytest

from tunamh.compiled import compiler


@pytest.fixture(params=[True, False], ids=["on", "off"])
def before(request):
    """Whether the user lets Python search for garbage."""
    was = gc.isenabled()
    (gc.enable if request.param else gc.disable)()
    yield request.param
    (gc.enable if was else gc.disable)()


def test_garbage_is_left_while_something_is_compiled(before):
    with compiler.compiling():
        assert not gc.isenabled()
        with compiler.compiling():
            assert not gc.isenabled()
        assert not gc.isenabled()  # the outer one is still at work
    assert gc.isenabled() == before


def test_an_error_of_the_compiler_ends_it(before):
    with pytest.raises(ZeroDivisionError), compiler.compiling():
        1 / 0
    assert gc.isenabled() == before


class Ring:
    def __init__(self):
        self.itself = self


def test_memory_stays_bounded(before, monkeypatch):
    """Beyond a number of objects garbage is collected, unless the user forbids it."""
    monkeypatch.setattr(compiler, "_MOST_OBJECTS", 100)
    gc.collect()
    with compiler.compiling():
        rings = [weakref.ref(Ring()) for _ in range(1000)]
        assert all(ring() is not None for ring in rings)
        with compiler.compiling():
            pass
        left = sum(ring() is not None for ring in rings)
    assert left == (0 if before else 1000)


@pytest.mark.skipif(not hasattr(os, "fork") or sys.platform == "darwin", reason="there is no fork")
def test_a_forked_child_searches_again():
    was = gc.isenabled()
    gc.enable()
    try:
        with compiler.compiling():
            child = os.fork()
            if child == 0:
                os._exit(0 if gc.isenabled() else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    finally:
        (gc.enable if was else gc.disable)()
