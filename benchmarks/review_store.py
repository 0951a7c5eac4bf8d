"""How long the quarterly review of a store with a million observations takes, to the last file.

Fills a fresh SQLite database with uploads of one quarter, runs `perfledger review` on it in a
process of its own, and prints what was measured.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from filled_store import OBSERVATIONS, PER_CHECK, fill

from perfledger_service.store.database import open_engine
from perfledger_service.store.upgrade import upgrade

GOAL_S = 60.0
EXAMPLE = Path(__file__).parent.parent / "examples" / "review"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--observations", type=int, default=OBSERVATIONS)
    checks = parser.parse_args().observations // PER_CHECK
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{Path(folder) / 'perfledger.db'}"
        upgrade(url)
        engine = open_engine(url)
        fill(engine, checks)
        engine.dispose()
        command = [
            *(sys.executable, "-m", "perfledger_service", "review"),
            *("--quarter", "2026Q3", "--as-of", "2026-11-22", "--output", folder),
            *("--plan", str(EXAMPLE / "plan.toml"), "--bill", str(EXAMPLE / "bill.csv")),
        ]
        environment = os.environ | {"PERFLEDGER_DATABASE_URL": url}
        start, cpu = time.perf_counter(), os.times().children_user
        subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)
        seconds, cpu = time.perf_counter() - start, os.times().children_user - cpu
        size = (Path(folder) / "perfledger.db").stat().st_size / 2**20
    print(f"{checks:,} checks, {checks * PER_CHECK:,} observations, {size:,.0f} MiB of SQLite:")
    print(
        f"  review in all five forms {seconds:.1f} s, {cpu:.1f} s of processor time "
        f"(goal < {GOAL_S:g} s)"
    )


if __name__ == "__main__":
    main()
