import numpy as np

from perfledger_cost_models.capacity.node_shape import (
    NodeShape,
    busy_milli_ms,
    days_of,
    mean_devices,
    node_shape,
    peak_devices,
    recorded_devices,
    sustained_devices,
    uncounted_reason,
    unlimited_peak,
    widest_job,
)
from perfledger_cost_models.job_logs.table import Job, table_of


def jobs_of(*rows):
    return table_of(
        Job(submit_s=submit, run_s=run, devices=devices, wait_s=wait)
        for submit, run, devices, wait in rows
    )


def test_a_job_that_starts_as_another_ends_does_not_add_to_the_peak():
    jobs = jobs_of((0, 10, 4, 0), (0, 10, 3, 10), (5, 10, 2, 0))

    assert peak_devices(jobs) == 6
    assert unlimited_peak(jobs) == 9
    assert widest_job(jobs) == 4


def test_a_log_without_devices_in_use_says_what_is_missing():
    # sacct of a Slurm before 20.11 has AllocGRES alone: its starts are there, and no device is.
    assert "no job of the log has a device" in uncounted_reason(jobs_of((0, 10, 0, 5)))
    assert "records no starts" in uncounted_reason(jobs_of((0, 10, 2, None)))


def test_a_log_was_recorded_on_no_fewer_devices_than_it_shows_in_use():
    """Else more than all of them would have been in use."""
    in_use, unknown = jobs_of((0, 10, 12, 0)), jobs_of((0, 10, 12, None))

    assert recorded_devices(in_use, stated=None, replayed=8) == 12
    assert recorded_devices(in_use, stated=None, replayed=16) == 16
    assert recorded_devices(in_use, stated=240, replayed=8) == 240
    assert recorded_devices(in_use, stated=4, replayed=8) == 12
    assert recorded_devices(unknown, stated=None, replayed=8) == 8


def test_the_devices_that_a_log_states_count_although_its_jobs_hold_more_for_a_while():
    """As in public logs with wrong sizes: their archive's shares in use are of the stated ones."""
    jobs = jobs_of((0, 100, 12, 0), (900, 100, 4, 0), (1000, 100, 8, 0))

    assert sustained_devices(jobs) == 12
    assert recorded_devices(jobs, stated=8, replayed=16) == 8
    assert recorded_devices(jobs, stated=1, replayed=16) == 12


def test_a_moment_in_which_jobs_overlap_is_no_use_for_long():
    """The first job is logged to end a second after the next one got its devices."""
    overlap = jobs_of((0, 2001, 8, 0), (0, 2000, 8, 2000))
    at_once = jobs_of((0, 2004, 8, 0), (0, 2000, 8, 2000))

    assert (peak_devices(overlap), sustained_devices(overlap)) == (16, 8)
    assert (peak_devices(at_once), sustained_devices(at_once)) == (16, 16)
    assert sustained_devices(jobs_of((0, 10, 12, None))) is None


def test_the_widest_job_may_have_ended_at_once_and_must_have_run():
    jobs = jobs_of((0, 10, 2, 0), (0, 0, 4, 0), (0, None, 8, None))

    assert widest_job(jobs) == 4


def test_the_mean_counts_until_the_last_submission():
    jobs = jobs_of((0, 10, 4, 0), (20, 100, 8, 0))

    assert busy_milli_ms(jobs, until_ms=20_000) == 4 * 1000 * 10_000
    assert mean_devices(jobs) == 2


def test_a_log_without_starts_has_no_peak():
    assert peak_devices(jobs_of((0, 10, 4, None))) is None


def test_single_devices_have_no_nodes_and_gangs_have_those_that_the_devices_consist_of():
    single, gang = jobs_of((0, 1, 1, 0)), jobs_of((0, 1, 2, 0))

    assert node_shape(single).devices is None
    assert node_shape(gang).devices == 8
    assert node_shape(gang, devices=12).devices == 4
    assert node_shape(gang, devices=12, per_node=6).devices == 6


def test_a_cluster_of_single_devices_is_one_node():
    shape = node_shape(jobs_of((0, 1, 1, 0)))

    assert shape.cluster(7).devices.tolist() == [7]
    assert node_shape(jobs_of((0, 1, 2, 0))).cluster(2).devices.tolist() == [8, 8]
    assert shape.fewest(7) == 7
    assert [NodeShape(8).fewest(devices) for devices in (0, 1, 8, 9)] == [1, 1, 1, 2]


def test_jobs_that_take_no_time_hold_nothing():
    assert unlimited_peak(jobs_of((0, 0, 4, 0), (5, None, 8, None))) == 0


def test_days_count_from_the_first_submission():
    jobs = jobs_of((0, 1, 1, 0), (86_400, 1, 1, 0))

    assert days_of(jobs) == 2
    assert np.all(jobs.submit_ms == [0, 86_400_000])


def test_a_millisecond_on_one_device_is_use():
    jobs = jobs_of((0, 0.001, 1, 0), (0.001, 0.001, 1, 0))

    assert peak_devices(jobs) == unlimited_peak(jobs) == widest_job(jobs) == 1
    assert mean_devices(jobs) == 1


def test_jobs_that_all_come_at_once_are_counted_over_a_millisecond():
    assert mean_devices(jobs_of((0, 0.001, 4, 0), (0, 0.001, 3, 0))) == 7
