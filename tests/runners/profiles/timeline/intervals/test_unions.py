from dataclasses import dataclass

from hypothesis import given, strategies as st

from perfledger_profiles.timeline.breakdown import union_of
from perfledger_profiles.timeline.intervals import intersection


@dataclass
class Span:
    start_ns: int
    end_ns: int


def numbers(spans):
    return {t for span in spans for t in range(span.start_ns, span.end_ns)}


SPANS = st.lists(
    st.tuples(st.integers(0, 40), st.integers(0, 15)).map(lambda s: Span(s[0], s[0] + s[1])),
    max_size=8,
)


@given(SPANS)
def test_a_union_covers_what_its_parts_cover_once(spans):
    union = union_of(spans)

    assert union.length_ns() == len(numbers(spans))
    assert (union.start_ns[1:] > union.end_ns[:-1]).all()


@given(SPANS, SPANS)
def test_what_is_common_lies_in_both(one, other):
    shared = intersection(union_of(one), union_of(other))

    assert shared.length_ns() == len(numbers(one) & numbers(other))
