"""Fixtures of the tests of `perfledger fleet`."""

import pytest


@pytest.fixture
def written(tmp_path):
    def written(text, name="perfledger.toml"):
        path = tmp_path / name
        path.write_text(text)
        return path

    return written


@pytest.fixture
def grid(tmp_path):
    """Two days of which the nights emit and cost half."""
    rows = [
        f"2026-11-{24 + hour // 24}T{hour % 24:02}:00Z,{200 if hour % 24 < 6 else 400},"
        f"{2 if hour % 24 < 6 else 4}"
        for hour in range(48)
    ]
    path = tmp_path / "grid.csv"
    path.write_text("time,g_per_kwh,usd_per_hour\n" + "\n".join(rows) + "\n")
    return path
