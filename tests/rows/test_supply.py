"""The law of the rows: alias table exact, draws independent of how they are asked for; a supply of one's own."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import stats

from tunamh.compiled import Refill, part
from tunamh.extend import helper
from tunamh.rows.supply import NO_ROWS, RING, Supply, draw_rows, open_stream, random_access


def law_of(table):
    """The probabilities that an alias table stands for."""
    n = table.shape[0]
    own = np.minimum(table[:, 0], 1.0)
    law = own.copy()
    np.add.at(law, table[:, 1].astype(int), 1 - own)
    return law / n


def column(weights):
    rows = np.zeros((len(weights), 4))
    rows[:, 2] = weights
    rows.flags.writeable = False
    return rows


@settings(max_examples=300, deadline=None)
@given(st.lists(st.one_of(st.just(0.0), st.floats(1e-6, 1e6)), min_size=1, max_size=60).filter(any))
@example([0.0, 1.0])
@example([1.0, 0.0, 0.0])
@example([1.0] * 7)
@example([1e6] + [1e-6] * 20)
def test_table_stands_for_the_weights(weights):
    law = law_of(random_access(column(weights), 2).law)
    expected = np.array(weights) / np.sum(weights)
    assert law == pytest.approx(expected, abs=1e-12)
    assert (law[expected == 0] == 0).all()


def test_no_weight_at_all_gives_a_table_that_is_never_used():
    assert random_access(column([0.0, 0.0]), 2).law.shape == (2, 2)


@helper(cache=False)
def take(stream, total, most, out):
    done = 0
    while done < total:
        start, n = draw_rows(stream, min(most, total - done))
        out[done : done + n] = stream.ring[start : start + n]
        done += n


def rows_drawn(supply, total, most, seed=5):
    out = np.empty(total, np.int64)
    take(open_stream(np.random.SeedSequence(seed)).of(supply), total, most, out)
    return out


def test_draws_follow_the_law(rng):
    weights = rng.exponential(size=50) * (rng.random(50) < 0.8)
    drawn = rows_drawn(random_access(column(weights), 2), 400_000, 256)
    counts = np.bincount(drawn, minlength=50)
    positive = weights > 0
    assert (counts[~positive] == 0).all()
    expected = weights[positive] / weights.sum() * drawn.size
    assert stats.chisquare(counts[positive], expected).pvalue > 1e-4
    wrong = np.full(positive.sum(), drawn.size / positive.sum())  # negative control: rows drawn uniformly
    assert stats.chisquare(counts[positive], wrong).pvalue < 1e-10


def test_the_stream_does_not_depend_on_the_size_of_the_requests(rng):
    supply = random_access(column(rng.exponential(size=1000)), 2)
    whole = rows_drawn(supply, 3 * RING, 256)
    assert np.array_equal(whole, rows_drawn(supply, 3 * RING, 1))
    assert np.array_equal(whole, rows_drawn(supply, 3 * RING, 37))
    assert not np.array_equal(whole, rows_drawn(supply, 3 * RING, 37, seed=6))


@part(Refill, cache=False)
def in_order(lanes, ring, uniform, cursor, law):
    for k in range(ring.size):
        ring[k] = k % law.shape[0]
        uniform[k] = 0.5
    cursor[0] = 0


def test_the_ring_is_filled_by_the_supply_that_is_given():
    law = np.empty((1000, 1))
    law.flags.writeable = False
    drawn = rows_drawn(Supply(in_order, law), 2 * RING, 100)
    assert np.array_equal(drawn, np.tile(np.arange(RING) % 1000, 2))


def test_a_test_that_draws_without_a_supply_reads_no_memory_but_the_rows():
    assert (rows_drawn(NO_ROWS, RING + 1, 100) == 0).all()
