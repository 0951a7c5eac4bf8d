import numpy as np

from perfledger_cost_models.capacity.resampled_log import resampled_log
from perfledger_cost_models.job_logs.table import Job, table_of

DAY_MS = 86_400_000
# A job of `day` devices at the hour `day` of each day.
LOG = table_of(
    Job(submit_s=day * 86_400.0 + day * 3600, run_s=60.0, devices=day + 1) for day in range(20)
)


def test_a_drawn_day_has_its_jobs_at_their_times_of_day():
    job_table = resampled_log(LOG, seed=3)

    assert (np.diff(job_table.submit_ms) >= 0).all()
    assert ((job_table.submit_ms % DAY_MS) == (job_table.devices - 1) * 3_600_000).all()
    assert (job_table.submit_ms // DAY_MS).tolist() == list(range(20))


def test_blocks_keep_successive_days_together():
    devices = resampled_log(LOG, seed=3).devices

    is_next = (np.diff(devices) % 20) == 1
    assert is_next.sum() >= 20 - 20 // 3 - 1
    assert len(set(devices.tolist())) < 20


def test_a_seed_decides_the_draw():
    same, other = resampled_log(LOG, seed=3), resampled_log(LOG, seed=4)

    assert same.devices.tolist() == resampled_log(LOG, seed=3).devices.tolist()
    assert same.devices.tolist() != other.devices.tolist()
