"""The moves of a sweep are parts of their own: several processes compile them, and an edit of one leaves the others."""

import subprocess
import sys

import pytest

NAMES = """
from tunamh.groups import move_common, move_effects, move_scales, sweep
EDIT
print(*(one.file.name for one in (*sweep.PARTS, sweep._sweep)))
"""


def files_after(edit=""):
    done = subprocess.run(
        [sys.executable, "-c", NAMES.replace("EDIT", edit)], check=True, capture_output=True, text=True, timeout=300
    )
    return done.stdout.split()


def test_every_move_of_a_sweep_has_a_file_of_its_own():
    files = files_after()
    assert len(set(files)) == 6
    assert [name.split("-")[0] for name in files] == [
        "groups.move_common.propose_common",
        "groups.move_common.move_common",
        "groups.move_effects.move_effects",
        "groups.move_scales.move_scales",
        "groups.move_means.move_means",
        "groups.sweep._sweep",
    ]


@pytest.mark.long
def test_an_edit_of_one_move_leaves_the_code_of_the_others():
    before = files_after()
    changed = {
        "move_common._SHARED_ALONE = 0.31": [True, False, False, False, False, False],
        "move_common._HALF_WAY = 10.5": [False, True, False, False, False, False],
        "move_effects.WALK = 0.051": [False, False, True, False, False, False],
        "sweep._GAIN = 0.21": [False, False, False, False, False, False],  # of warm-up
        "sweep._RHO = 0": [False, False, False, False, False, True],
    }
    for edit, expected in changed.items():
        assert [a != b for a, b in zip(before, files_after(edit), strict=True)] == expected, edit


def test_a_sweep_calls_the_parts_in_the_order_of_their_places():
    from tunamh.groups import roles, sweep

    places = roles.PROPOSE_COMMON, roles.MOVE_COMMON, roles.MOVE_EFFECTS, roles.MOVE_SCALES
    assert [sweep.PARTS[k].dispatcher.__name__ for k in places] == [
        "propose_common",
        "move_common",
        "move_effects",
        "move_scales",
    ]
