import pytest

from perfledger.load import LoadResult, LoopKind
from perfledger_baselines.estimation.load_points import measured_point


def result(*, offered=None, answered=200, latencies=200):
    return LoadResult(
        mode=LoopKind.CLOSED if offered is None else LoopKind.OPEN,
        concurrency=4 if offered is None else None,
        offered_per_second=offered,
        latencies_s=tuple(0.01 * (n + 1) for n in range(latencies)),
        services_s=(0.002, 0.004, 0.009),
        seconds=10.0,
        answered=answered,
    )


def test_a_point_has_the_quantiles_of_its_latencies():
    point = measured_point(result(), batch=8, memory_bytes=2**30)

    assert (point.p50.seconds, point.p95.seconds, point.p99.seconds) == pytest.approx(
        (1.0, 1.9, 1.98)
    )
    assert point.service_p50_s == 0.004
    assert (point.batch, point.completed, point.memory_bytes) == (8, 200, 2**30)
    assert point.throughput_per_second == pytest.approx(20.0)


@pytest.mark.parametrize(("offered", "keeps_up"), [(None, True), (20.0, True), (60.0, False)])
def test_an_open_loop_keeps_up_with_what_it_is_offered(offered, keeps_up):
    assert measured_point(result(offered=offered), batch=1, memory_bytes=None).has_kept_up is (
        keeps_up
    )


def test_a_load_without_an_answer_is_no_point():
    with pytest.raises(ValueError, match="0 latencies"):
        measured_point(result(latencies=0, answered=0), batch=1, memory_bytes=None)
