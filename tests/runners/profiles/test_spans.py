from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from perfledger_profiles.breakdown import windows_of
from perfledger_profiles.spans import NOBODY, exclusive_ns, nest

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
    assert nesting.parent == (NOBODY, 0, 1)


def test_of_two_calls_that_cross_the_later_one_keeps_its_whole_time():
    assert pieces(nested([(0, 6), (4, 9)]).segments) == [(0, 4, 0), (4, 9, 1)]


def test_a_call_without_length_is_nested_but_owns_nothing():
    nesting = nested([(0, 4), (2, 2)])

    assert pieces(nesting.segments) == [(0, 2, 0), (2, 4, 0)]
    assert nesting.parent == (NOBODY, 0)


@pytest.mark.slow
@settings(deadline=None)
@given(spans)
def test_segments_are_disjoint_in_order_and_cover_exactly_the_union(pairs):
    found = pieces(nested(pairs).segments)
    covered = {instant for start, end in pairs for instant in range(start, end)}

    assert all(start < end for start, end, _ in found)
    assert all(before[1] <= after[0] for before, after in pairwise(found))
    assert {instant for start, end, _ in found for instant in range(start, end)} == covered


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

    shares = exclusive_ns(layers, windows, calls=max(len(first), len(second)))

    assert shares.sum() == (windows.end_ns - windows.start_ns).sum()
    inside = {t for start, end in steps for t in range(start, end)}
    busy = {t for start, end in first for t in range(start, end)}
    alone = exclusive_ns(layers[:1], windows, calls=len(first))
    assert alone[:-1].sum() == len(inside & busy)
