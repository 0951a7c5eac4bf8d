import numpy as np
from hypothesis import given, strategies as st

from perfledger_cost_models.job_logs.table import Job, table_of
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


@given(
    st.lists(
        st.builds(
            Job,
            submit_s=st.integers(0, 9),
            run_s=st.just(1.0),
            devices=st.integers(0, 3),
            share_milli=st.sampled_from([0, 500, 1000]),
            cpu_milli=st.sampled_from([0, 10**12]),
            memory_mib=st.sampled_from([0, 7, 10**12]),
            models=st.sampled_from(["", "A100", "H100"]),
        ),
        min_size=1,
        max_size=15,
    )
)
def test_the_requests_of_jobs_are_distinct_and_sorted(rows):
    jobs = table_of(rows)
    columns = (
        jobs.devices,
        jobs.share_milli,
        jobs.cpu_milli,
        jobs.memory_mib,
        jobs.models.codes,
    )
    expected, expected_places = np.unique(np.stack(columns, axis=1), axis=0, return_inverse=True)

    shapes, places = resource_requests(jobs)

    assert shapes == [tuple(row) for row in expected.tolist()]
    assert places.tolist() == expected_places.ravel().tolist()
