"""A mix of jobs, of which some take half a device and some none, and a log of four days."""

from perfledger_cost_models.job_logs.table import Job, table_of

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

NODES = """gpu,cpu_num,memory_mib,model,pool,count
4,24,9000,A,x,2
4,32,,B,x,1
2,16,6000,A,y,2
8,64,,B,y,1
"""


def example_log(*, is_plain=False):
    """Return 120 jobs of four days; plain ones take whole devices and nothing else is counted."""
    return table_of(_example_job(row, is_plain=is_plain) for row in range(120))


def _example_job(row, *, is_plain):
    devices = (1, 1, 2, 4, 8)[row * 7 % 5]
    share = 1000 if is_plain or devices > 1 else (1000, 1000, 250, 600)[row * 3 % 4]
    run_s = float((row * row * 31 + 7) % 97 + 1) ** 2 * 9
    return Job(
        submit_s=2900.0 * row + row * 37 % 53 * 100,
        run_s=run_s,
        devices=devices,
        share_milli=share,
        limit_s=None if row % 3 == 0 else (2 * run_s if row % 5 else 60.0),
        cpu_milli=0 if is_plain else 4000 * devices + 1000 * (row % 4),
        memory_mib=0 if is_plain else 1000 * (row % 6),
        priority=row % 3,
        team="abc"[row * 5 % 7 % 3],
        pool="xy"[row % 2],
        wait_s=float(row % 11) * 100,
    )
