"""How long the quarterly review of a store with a million observations takes, to the last file.

Fills a fresh SQLite database with uploads of one quarter, runs `perfledger review` on it in a
process of its own, and prints what was measured.
"""

import os
import subprocess
import sys
import time
from pathlib import Path

from filled_store import filled_store

from perfledger.rounding import decimals, typed

GOAL_S = 60.0
EXAMPLE = Path(__file__).parents[2] / "examples" / "review"


def main() -> None:
    with filled_store() as store:
        command = [
            *(sys.executable, "-m", "perfledger_service", "review"),
            *("--quarter", "2026Q3", "--as-of", "2026-11-22", "--output", str(store.folder)),
            *("--plan", str(EXAMPLE / "plan.toml"), "--bill", str(EXAMPLE / "bill.csv")),
        ]
        environment = os.environ | {"PERFLEDGER_DATABASE_URL": store.url}
        start, cpu = time.perf_counter(), os.times().children_user
        subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)
        seconds, cpu = time.perf_counter() - start, os.times().children_user - cpu
        print(f"{store.size}:")
    print(
        f"  review in all five forms {decimals(seconds, 1)} s, {decimals(cpu, 1)} s of "
        "processor time "
        f"(goal < {typed(GOAL_S)} s)"
    )


if __name__ == "__main__":
    main()
