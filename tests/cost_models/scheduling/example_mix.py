"""A mix of jobs, of which some take half a device and some none."""

from perfledger_cost_models.job_logs.job_table import Job, table_of

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
