import numpy as np
import pytest

from perfledger_cost_models.job_logs.job_table import Job, table_of
from perfledger_cost_models.scheduling.cluster import equal_nodes
from perfledger_cost_models.scheduling.free_devices import (
    FreeDevices,
    JobAllocation,
    NodeAllocation,
    resource_requests,
)

MIX = table_of(
    Job(submit_s=0, run_s=None, devices=devices, share_milli=share, cpu_milli=cpu)
    for devices, share, cpu, count in (
        (1, 500, 4000, 5),
        (1, 1000, 8000, 4),
        (2, 1000, 8000, 2),
        (0, 1000, 16_000, 1),
    )
    for _ in range(count)
)


@pytest.fixture
def free_devices():
    cluster = equal_nodes(3, devices=4)
    return FreeDevices(cluster, np.arange(3), MIX)


def test_a_job_of_processors_alone_is_of_no_kind(free_devices):
    shapes, _ = resource_requests(MIX)
    alone = next(request for request in shapes if not request.devices)

    free_devices.take(JobAllocation(alone, (NodeAllocation(1, np.array([], np.int64), 16_000, 0),)))

    assert not free_devices.kinds.any()
