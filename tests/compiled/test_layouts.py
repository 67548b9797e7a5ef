"""Records that are declared once: packing checks what it is given, and compiled code reads what was packed."""

import subprocess
import sys

import numba
import numpy as np
import pytest

from tunamh.compiled import fixed
from tunamh.compiled.layouts import FLAG, NUMBER, WHOLE, Layout, float32, int32
from tunamh.compiled.windows import flat, from_column
from tunamh.rows.packing import columns_by_name

TREND = Layout(
    "Trend",
    n=WHOLE,
    origin=NUMBER,
    rising=FLAG,
    slopes=("n",),
    cube=(2, "n", "n + 1"),
    triangle=("n * (n + 1) // 2",),
    level=NUMBER,
)
trend_at = TREND.reader()

VALUES = {
    "origin": 3.5,
    "rising": True,
    "slopes": np.array([1.0, 2.0]),
    "cube": np.arange(12.0).reshape(2, 2, 3),
    "triangle": np.array([5.0, 6.0, 7.0]),
    "level": -1.0,
}


def packed(**others):
    return TREND.pack(**{**VALUES, **others})


@numba.njit
def _sum_of_slopes(trend):
    return trend.slopes.sum()


@numba.njit
def _read(vector, start):
    trend = trend_at(vector, start)
    row = trend.cube[1, 1]
    return (
        (trend.n, trend.origin, trend.rising, trend.level, trend.end),
        (trend.slopes.copy(), trend.cube.copy(), trend.triangle.copy(), row.copy(), flat(trend.cube).copy()),
        _sum_of_slopes(trend),
    )


@pytest.mark.parametrize("start", [0, 3])
def test_compiled_code_reads_what_was_packed(start):
    vector = fixed(np.concatenate([np.full(start, np.nan), packed(), [np.nan]]))
    numbers, arrays, total = _read(vector, start)
    assert numbers == (2, 3.5, True, -1.0, len(packed()))
    wanted = VALUES["slopes"], VALUES["cube"], VALUES["triangle"], VALUES["cube"][1, 1], VALUES["cube"].ravel()
    assert all(np.array_equal(one, other) for one, other in zip(arrays, wanted, strict=True))
    assert total == 3.0


def test_python_reads_the_same():
    vector = np.concatenate([[0.0], packed(rising=False)])
    found = TREND.views(vector, 1)
    assert (found.n, found.origin, found.rising, found.level) == (2, 3.5, False, -1.0)
    assert all(np.array_equal(getattr(found, name), VALUES[name]) for name in ("slopes", "cube", "triangle"))
    found.slopes[1] = 9.0  # a view
    assert 9.0 in vector
    places = TREND.places(n=2)
    assert (places.slopes, places.cube, places.end) == (3, 5, len(packed()))


@pytest.mark.parametrize(
    ("wrong", "error", "told"),
    [
        ({"cube": np.zeros((2, 3, 2))}, ValueError, r"cube of Trend must have shape \(2, 2, 3\).*got \(2, 3, 2\)"),
        ({"slopes": np.zeros((2, 1))}, ValueError, r"slopes of Trend must have shape"),
        ({"n": 3}, ValueError, r"slopes of Trend must have shape \(3,\)"),
        ({"origin": [1.0, 2.0]}, ValueError, r"origin of Trend must have shape \(\)"),
        ({"slope": 1.0}, TypeError, r"wrong are \{'slope'\}"),
    ],
)
def test_what_does_not_fit_is_named(wrong, error, told):
    with pytest.raises(error, match=told):
        packed(**wrong)


def test_a_field_that_is_missing_is_named():
    values = {name: value for name, value in VALUES.items() if name != "level"}
    with pytest.raises(TypeError, match=r"wrong are \{'level'\}"):
        TREND.pack(**values)
    with pytest.raises(TypeError, match="n is neither given nor the length of an array"):
        Layout("Alone", n=WHOLE, twice=("2 * n",)).pack(twice=np.zeros(4))


def test_a_declaration_that_cannot_be_read_is_refused():
    with pytest.raises(ValueError, match="before the first array"):
        Layout("Late", d=WHOLE, values=("d",), n=WHOLE)
    with pytest.raises(ValueError, match=r"an extent of values is 'm'"):
        Layout("Unknown", d=WHOLE, values=("m",))
    with pytest.raises(ValueError, match="no field"):
        Layout("End", end=NUMBER)
    with pytest.raises(ValueError, match=r"\+, -, \* and //"):
        Layout("Power", d=WHOLE, values=("d ** 2",)).pack(d=1, values=[1.0])


# ------------------------------------------------------------------------------------------------------- packed rows

ROW = Layout("TestRow", "width", "K", features=("width",), y=NUMBER, eta=("K",), weight=NUMBER)
row_at = ROW.reader()


@numba.njit
def _row(rows, i, width, K):
    row = row_at(rows, i, width, K)
    return row.features.copy(), row.y, row.eta.copy(), row.weight, row.end


def test_rows_have_named_columns():
    rows = np.zeros((4, 8))  # one column of padding
    columns = columns_by_name(ROW, rows, width=2, K=3)
    columns.features[:], columns.y[:] = [[1.0, 2.0]], np.arange(4.0)
    columns.eta[:], columns.weight[:] = [[5.0, 6.0, 7.0]], 0.5
    features, y, eta, weight, end = _row(rows, 2, 2, 3)
    assert features.tolist() == [1.0, 2.0]
    assert (y, weight, end) == (2.0, 0.5, 7)
    assert eta.tolist() == [5.0, 6.0, 7.0]


@numba.njit
def _from(rows, first, i):
    return row_at(from_column(rows, first), i, 1, 1).y


def test_a_record_may_begin_in_a_column():
    rows = np.arange(20.0).reshape(2, 10)
    assert _from(rows, 4, 1) == 15.0


# ----------------------------------------------------------------------------------------- two numbers in one place

NARROW = Layout("Narrow", n=WHOLE, m=WHOLE, indices=int32("n"), values=("n",), singles=float32("m"), last=NUMBER)
narrow_at = NARROW.reader()


@numba.njit
def _narrow(vector):
    found = narrow_at(vector, 0)
    return found.indices.copy(), found.values.copy(), found.singles.copy(), found.last, found.end


@pytest.mark.parametrize("n", [0, 1, 2, 5])
@pytest.mark.parametrize("m", [0, 3, 4])
def test_numbers_of_32_bits_lie_by_twos(n, m):
    indices, singles = np.arange(n) - 1, np.linspace(0.1, 0.9, m).astype(np.float32)
    vector = NARROW.pack(indices=indices, values=np.arange(n) + 0.5, singles=singles, last=7.0)
    assert len(vector) == 2 + (n + 1) // 2 + n + (m + 1) // 2 + 1
    found = _narrow(vector)
    for one, other in zip(found[:3], (indices, np.arange(n) + 0.5, singles), strict=True):
        assert np.array_equal(one, other)
    assert found[3:] == (7.0, len(vector))
    views = NARROW.views(vector)
    assert views.indices.dtype == np.int32
    assert np.array_equal(views.indices, indices)
    assert np.array_equal(views.singles, singles)
    assert views.last == 7.0


# ---------------------------------------------------------------------------------------------------- compiled code


@numba.njit
def _set(vector, value):
    trend_at(vector, 0).slopes[1] = value


def test_a_record_in_a_vector_that_may_be_written_to_may_be_too():
    vector = packed()
    _set(vector, 4.0)
    assert TREND.views(vector).slopes[1] == 4.0
    with pytest.raises(numba.TypingError, match="readonly"):
        _set(fixed(vector), 4.0)


CODE = """
import sys
import numpy as np
from tunamh.compiled import helper
from tunamh.compiled.layouts import NUMBER, WHOLE, Layout
fields = {"n": WHOLE, "first": ("n",), "last": NUMBER} if sys.argv[1] == "one" else {
    "n": WHOLE, "before": NUMBER, "first": ("n",), "last": NUMBER}
PAIR = Layout("Pair", **fields)
pair_at = PAIR.reader()
@helper
def inner(pair):
    return pair.first[0] + 10.0 * pair.last
@helper
def outer(vector):
    return inner(pair_at(vector, 0))
values = {"first": np.array([1.0, 2.0]), "last": 3.0, "before": 5.0}
print(outer(PAIR.pack(**{name: values[name] for name in fields if name != "n"})))
print(sum(outer.stats.cache_hits.values()), sum(outer.stats.cache_misses.values()))
"""


def run(which):
    done = subprocess.run([sys.executable, "-c", CODE, which], check=True, capture_output=True, text=True)
    value, counts = done.stdout.splitlines()
    return float(value), tuple(map(int, counts.split()))


def test_compiled_code_is_kept_by_what_was_declared(tmp_path, monkeypatch):
    """A second process loads it; another declaration of the same name, read by the same functions, does not."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    assert run("one") == (31.0, (0, 1))
    assert run("one") == (31.0, (1, 0))
    assert run("other") == (31.0, (0, 1))


def test_the_same_declaration_is_one_type():
    again = Layout("Trend", **TREND.fields)
    assert again.made_of == TREND.made_of
    other = Layout("Trend", **{name: kind for name, kind in TREND.fields.items() if name != "level"})
    assert other.made_of != TREND.made_of
