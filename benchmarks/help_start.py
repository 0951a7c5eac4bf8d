"""How long `perfledger --help` takes against `python -c pass`, in one run, pair by pair."""

import statistics
import subprocess
import sys
import time

PAIRS = 20
GOAL = 3.0
HEAVY = ("torch", "jax", "sqlmodel", "numpy", "typer")
HELP = [sys.executable, "-m", "perfledger_service", "--help"]


def seconds(command: list[str]) -> float:
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def main() -> None:
    ratios = []
    for _ in range(PAIRS):
        bare = seconds([sys.executable, "-c", "pass"])
        ratios.append(seconds(HELP) / bare)
    probe = (
        "import runpy, sys; sys.argv = ['perfledger', '--help'];"
        "runpy.run_module('perfledger_service', run_name='__main__');"
        f"print('imported:', [name for name in {HEAVY!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", probe], check=True, capture_output=True, text=True)
    print(f"perfledger --help / python -c pass: median {statistics.median(ratios):.2f}x", end=" ")
    print(f"(min {min(ratios):.2f}, max {max(ratios):.2f}, {PAIRS} pairs; goal <= {GOAL:g}x)")
    print(done.stdout.splitlines()[-1])


if __name__ == "__main__":
    main()
