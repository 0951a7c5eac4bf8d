import numpy as np

from perfledger_cost_models.scheduling.placement.free_devices import (
    JobAllocation,
    NodeAllocation,
    resource_requests,
)
from tests.cost_models.example_job_mix import MIX


def test_a_job_of_processors_alone_is_of_no_kind(free_devices):
    shapes, _ = resource_requests(MIX)
    alone = next(request for request in shapes if not request.devices)

    free_devices.take(JobAllocation(alone, (NodeAllocation(1, np.array([], np.int64), 16_000, 0),)))

    assert not free_devices.kinds.any()
