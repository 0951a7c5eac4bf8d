"""Fixtures of the tests of `perfledger plan`."""

import pytest


@pytest.fixture
def log(tmp_path):
    """A fortnight of which each day a wide job keeps narrow ones waiting."""
    rows = ["user,gpu_num,submit_time,duration,queue"]
    for day in range(14):
        start = day * 86_400
        rows += [f"a,3,{start},{14_000 + 10 * day},0", f"a,4,{start + 60},60,20000"]
        rows += [f"[red]b,1,{start + 120 + 60 * i},3000,5" for i in range(4)]
    path = tmp_path / "jobs.csv"
    path.write_text("\n".join(rows) + "\n")
    return path
