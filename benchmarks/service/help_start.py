"""Times every help text of perfledger against a two-command typer program, pair by pair.

python benchmarks/service/help_start.py [--pairs 5]

A command's help is held against `one --help` of that program, a group's against its `--help`. Both
run in turns in one session, so that a busy machine slows both: the ratio is what counts. Ends with
1 if the median ratio of a help is above the goal.
"""

import argparse
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator

from perfledger.rounding import decimals
from perfledger_service.cli.groups import ROOT, Group

GOAL = 1.5
TWO_COMMANDS = """
import typer

app = typer.Typer()


@app.command()
def one(name: str = "a", count: int = 1) -> None:
    '''Do one thing.'''


@app.command()
def two(name: str = "a", count: int = 1) -> None:
    '''Do another thing.'''


app()
"""


def helps(group: Group, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], bool]]:
    """Return the words of every help, and whether it is a group's."""
    yield path, True
    for name, member in group.members.items():
        if isinstance(member, Group):
            yield from helps(member, (*path, name))
        else:
            yield (*path, name), False


def seconds(*command: str) -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, *command], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def ratio(path: tuple[str, ...], *, is_group: bool, pairs: int) -> float:
    bare = ("-c", TWO_COMMANDS, *(() if is_group else ("one",)), "--help")
    ours = ("-m", "perfledger_service", *path, "--help")
    return statistics.median(seconds(*ours) / seconds(*bare) for _ in range(pairs))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--pairs", type=int, default=5)
    options = parser.parse_args()
    ratios = {}
    for path, is_group in helps(ROOT):
        ratios[path] = ratio(path, is_group=is_group, pairs=options.pairs)
        print(f"{ratios[path]:5.2f}x  perfledger {' '.join((*path, '--help'))}")
    worst = max(ratios.values())
    print(
        f"{len(ratios)} helps: median {decimals(statistics.median(ratios.values()), 2)}x", end=", "
    )
    print(f"worst {decimals(worst, 2)}x, goal {GOAL}x")
    sys.exit(worst > GOAL)


if __name__ == "__main__":
    main()
