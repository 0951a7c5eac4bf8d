"""A load curve that is made up."""

import pytest

from perfledger.load import LoadResult, LoopKind
from perfledger_baselines.estimation.load_points import MeasuredLoad, measured_point


def point(*, batch=1, slowest_s=0.02, clients=None, offered=None, answered=500):
    latencies = tuple(0.01 + (slowest_s - 0.01) * (n * 19 % 500) / 499 for n in range(500))
    served = LoadResult(
        mode=LoopKind.OPEN if clients is None else LoopKind.CLOSED,
        concurrency=clients,
        offered_per_second=offered,
        latencies_s=latencies,
        services_s=(0.005,) * 500,
        seconds=10.0,
        answered=answered,
    )
    return measured_point(served, batch=batch, memory_bytes=None if clients else 3 * 2**30)


@pytest.fixture
def view():
    return MeasuredLoad(
        workload="m:f[size=3]",
        device="NVIDIA H100 80GB HBM3",
        devices=2,
        servers=1,
        points=(point(clients=1), point(clients=16, batch=4), point(offered=50.0)),
    )


@pytest.fixture
def queued():
    """A point at which the queue grew: ten requests a second more came than were answered."""
    return point(offered=60.0, answered=500)
