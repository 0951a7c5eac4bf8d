from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from perfledger_profiles.timeline.breakdown import windows_of
from perfledger_profiles.timeline.intervals import (
    NO_CALL,
    crossing_parents,
    cut_by_owner,
    depths,
    intersection_ns,
    is_inside,
    nest,
    nested_parents,
    union,
)

times = st.tuples(st.integers(0, 50), st.integers(0, 20)).map(lambda t: (t[0], t[0] + t[1]))
spans = st.lists(times, max_size=12)


def nested(pairs):
    table = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return nest(table[:, 0], table[:, 1], np.arange(len(pairs), dtype=np.int64))


def pieces(segments):
    return list(
        zip(
            segments.start_ns.tolist(),
            segments.end_ns.tolist(),
            segments.owner.tolist(),
            strict=True,
        )
    )


def test_each_instant_belongs_to_the_deepest_call():
    nesting = nested([(0, 10), (2, 8), (3, 5)])

    assert pieces(nesting.segments) == [(0, 2, 0), (2, 3, 1), (3, 5, 2), (5, 8, 1), (8, 10, 0)]
    assert nesting.parent_numbers == (NO_CALL, 0, 1)


def test_of_two_calls_that_cross_the_later_one_keeps_its_whole_time():
    assert pieces(nested([(0, 6), (4, 9)]).segments) == [(0, 4, 0), (4, 9, 1)]


def test_a_call_without_length_is_nested_but_owns_and_contains_nothing():
    nesting = nested([(0, 4), (2, 2), (2, 2), (5, 5)])

    assert pieces(nesting.segments) == [(0, 4, 0)]
    assert nesting.parent_numbers == (NO_CALL, 0, 0, NO_CALL)


def test_no_calls_nest_in_nothing():
    nesting = nested([])

    assert pieces(nesting.segments) == []
    assert (nesting.order, nesting.parent_numbers) == ((), ())


def ranked(pairs):
    long = sorted((pair for pair in pairs if pair[1] > pair[0]), key=lambda p: (p[0], -p[1]))
    table = np.array(long, dtype=np.int64).reshape(-1, 2)
    return table[:, 0], table[:, 1]


@st.composite
def trees(draw):
    """Draw spans that nest: each is cut out of one that is there already, or beside all."""
    free = [(0, draw(st.integers(1, 60)))]
    results = []
    for _ in range(draw(st.integers(0, 12))):
        low, high = free.pop(draw(st.integers(0, len(free) - 1))) if free else (0, 0)
        if high - low < 1:
            continue
        start = draw(st.integers(low, high - 1))
        end = draw(st.integers(start + 1, high))
        results.append((start, end))
        free += [(low, start), (start, end), (end, high)]
    return results


@pytest.mark.slow
@settings(deadline=None)
@given(trees())
def test_for_calls_that_nest_the_fast_way_and_the_slow_way_agree(pairs):
    starts, ends = ranked(pairs)

    fast = nested_parents(starts, ends)

    slow, cuts = crossing_parents(starts, ends)
    assert fast is not None
    assert fast.tolist() == slow.tolist()
    assert pieces(nested(pairs).segments) == [
        (start, end, sorted(range(len(pairs)), key=lambda n: (pairs[n][0], -pairs[n][1], n))[owner])
        for start, end, owner in pieces(cuts)
    ]


@pytest.mark.slow
@settings(deadline=None)
@given(spans)
def test_the_fast_way_is_taken_exactly_for_calls_that_nest(pairs):
    starts, ends = ranked(pairs)
    crossing = any(
        a < c < b < d
        for a, b in zip(starts, ends, strict=True)
        for c, d in zip(starts, ends, strict=True)
    )

    assert (nested_parents(starts, ends) is None) == crossing


@pytest.mark.slow
@settings(deadline=None)
@given(spans)
def test_depth_is_the_length_of_the_way_out(pairs):
    nesting = nested(pairs)
    around = np.full(len(pairs), NO_CALL, dtype=np.int64)
    around[nesting.ranked] = nesting.parents

    def option(call):
        return 0 if around[call] == NO_CALL else 1 + option(around[call])

    assert depths(around).tolist() == [option(call) for call in range(len(pairs))]


@pytest.mark.slow
@settings(deadline=None)
@given(spans, st.integers(0, 11))
def test_what_is_inside_a_chosen_call_is_found_at_any_depth(pairs, number):
    nesting = nested(pairs)
    around = np.full(len(pairs), NO_CALL, dtype=np.int64)
    around[nesting.ranked] = nesting.parents
    chosen = np.arange(len(pairs)) == number

    def inside(call):
        return call == number or (around[call] != NO_CALL and inside(around[call]))

    assert is_inside(chosen, around).tolist() == [inside(call) for call in range(len(pairs))]


@pytest.mark.slow
@settings(deadline=None)
@given(spans, spans)
def test_unions_and_what_they_have_in_common_are_sets_of_instants(one, other):
    def instants(pairs):
        return {instant for start, end in pairs for instant in range(start, end)}

    first, second = (union(*arrays(pairs)) for pairs in (one, other))

    assert first.length_ns() == len(instants(one))
    assert intersection_ns(first, second) == len(instants(one) & instants(other))


def arrays(pairs):
    table = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return table[:, 0], table[:, 1]


@pytest.mark.slow
@settings(deadline=None)
@given(spans)
def test_segments_are_disjoint_in_order_and_cover_exactly_the_union(pairs):
    found_pieces = pieces(nested(pairs).segments)
    covered_instants = {instant for start, end in pairs for instant in range(start, end)}

    assert all(start < end for start, end, _ in found_pieces)
    assert all(before[1] <= after[0] for before, after in pairwise(found_pieces))
    assert {
        instant for start, end, _ in found_pieces for instant in range(start, end)
    } == covered_instants


@pytest.mark.slow
@settings(deadline=None)
@given(spans)
def test_an_owner_is_running_while_it_owns(pairs):
    for start, end, owner in pieces(nested(pairs).segments):
        assert pairs[owner][0] <= start < end <= pairs[owner][1]


@pytest.mark.slow
@settings(deadline=None)
@given(spans, spans, spans)
def test_shares_sum_to_the_windows_and_the_first_layer_loses_nothing(first, second, steps):
    windows = windows_of(steps)
    layers = [nested(first).segments, nested(second).segments]

    shares, alone = cut_by_owner(layers, windows), cut_by_owner(layers[:1], windows)

    assert shares.length_ns.sum() == windows.length_ns()
    inside = {t for start, end in steps for t in range(start, end)}
    busy = {t for start, end in first for t in range(start, end)}
    assert alone.length_ns[alone.owner != NO_CALL].sum() == len(inside & busy)
