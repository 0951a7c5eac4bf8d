import pytest
from hypothesis import given, strategies as st

from perfledger.load import LoadResult, LoopKind, has_served_offered_load, pool_results

LATENCIES = st.lists(st.floats(1e-6, 10.0), min_size=1, max_size=20)


def served(latencies_s, **values):
    return LoadResult(
        **{
            "mode": LoopKind.OPEN,
            "concurrency": None,
            "offered_per_second": 2.0,
            "latencies_s": tuple(latencies_s),
            "services_s": tuple(latencies_s),
            "seconds": 5.0,
            "answered": len(latencies_s),
        }
        | values
    )


@pytest.mark.parametrize(
    ("answered", "completed", "expected"),
    [
        (98.0, None, True),
        (97.9, None, False),
        (96.1, 10_000, True),
        (95.9, 10_000, False),
        (90.0, 500, True),
        (120.0, None, True),
    ],
)
def test_a_server_keeps_up_that_answers_about_as_much_as_it_is_offered(
    answered, completed, expected
):
    assert has_served_offered_load(offered=100.0, served=answered, completed=completed) is expected


@given(st.lists(LATENCIES, min_size=1, max_size=5))
def test_parts_of_one_load_are_one_load_with_all_their_requests(parts):
    whole_load_result = pool_results([served(part, unserved=1) for part in parts])

    assert whole_load_result.latencies_s == tuple(each for part in parts for each in part)
    assert len(whole_load_result.services_s) == whole_load_result.answered == sum(map(len, parts))
    assert (whole_load_result.seconds, whole_load_result.unserved) == (5.0 * len(parts), len(parts))
    assert whole_load_result.offered_per_second == 2.0
