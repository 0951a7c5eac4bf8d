"""Fixtures of the tests of `perfledger plan`."""

import pytest


@pytest.fixture
def log(tmp_path):
    """A fortnight of which each day a wide job keeps narrow ones waiting: fifo on 4 devices."""
    rows = ["user,gpu_num,submit_time,duration,queue"]
    for day in range(14):
        start, first = day * 86_400, 14_000 + 10 * day
        rows += [f"a,3,{start},{first},0", f"a,4,{start + 60},60,{first - 60}"]
        rows += [f"[red]b,1,{start + 120 + 60 * i},3000,{first - 60 - 60 * i}" for i in range(4)]
    path = tmp_path / "jobs.csv"
    path.write_text("\n".join(rows) + "\n")
    return path


@pytest.fixture
def unlike_log(log):
    """The same jobs with the waits of a scheduler that lets narrow jobs pass."""
    header, *rows = log.read_text().splitlines()
    passing = [row.rsplit(",", 1)[0] + ",5" if "[red]b" in row else row for row in rows]
    log.write_text("\n".join([header, *passing]) + "\n")
    return log
