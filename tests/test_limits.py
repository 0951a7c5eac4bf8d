"""Every limit, threshold and constant of a method stands in docs/reference/limits with its value.

PERFLEDGER_UPDATE_GOLDEN=1 writes the pages.
"""

import ast
import importlib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from fractions import Fraction
from itertools import groupby
from pathlib import Path
from textwrap import fill

import pytest

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "docs" / "reference" / "limits"
MAX_LINE = 120
KIB = 2**10
UNITS = ((2**30, "GiB"), (2**20, "MiB"), (KIB, "KiB"))
UPDATE = "PERFLEDGER_UPDATE_GOLDEN"
# What a limit is called: the most or the least of something, or an amount in its unit. It is listed
# without a comment too.
LIMIT = re.compile(
    r"_?(MAX|MIN|MOST|FEWEST|LONGEST|SHORTEST|LARGEST|SMALLEST|LEAST|DEFAULT)(_[A-Z0-9_]+)?"
    r"|_?[A-Z][A-Z0-9_]*_(BYTES|SECONDS|S|MS|ROWS|DAYS|HOURS|SHARE|TIMEOUT)"
)
# Public constants that a comment explains are listed too, but not sizes in a picture or what an
# interface of others calls by a number.
DRAWN = Path("service/perfledger_service/rendering")
INTERFACES = {"nvml"}
NUMBER_OF = re.compile("VERSION|FIELD")
MOST_AMOUNTS = 10  # of a constant; the steps of a curve are no limits
# Of each page: the title, the folder whose modules it lists, and what happens beyond a limit.
PAGES = {
    "service": (
        "the service and its store",
        "service/perfledger_service",
        """The service refuses a request beyond its limit, with an error that says what is too
        large. A time limit ends one attempt.""",
    ),
    "commands": (
        "the inputs of commands",
        "service/perfledger_service/usecases",
        """Commands and pages refuse a file or table beyond its limit, with an error that says what
        is too large. A time limit ends one attempt.""",
    ),
    "reports": (
        "reports, pages and charts",
        "service/perfledger_service/rendering",
        """Longer texts are shortened. Longer tables show their first rows and how many more there
        are. A chart with too many rows or points shows the largest, or fewer points.""",
    ),
    "sdk": (
        "the SDK in a workload's process",
        "runners/perfledger",
        """The SDK refuses a workload that is declared beyond a limit. It stops measuring at a
        limit of time or samples, and shortens texts.""",
    ),
    "runner": (
        "the runner",
        "runners/perfledger_runners",
        """The runner ends a child process that exceeds a limit, and its run counts as not
        measured. It refuses a bundle or a message that is too large.""",
    ),
    "profiles": (
        "files of profilers",
        "runners/perfledger_profiles",
        """A reader refuses a file beyond a limit, or reads a part of it and adds a note. A share is
        a threshold: it decides which bottleneck, cause or advice is reported.""",
    ),
    "timeline": (
        "the timeline of a trace",
        "runners/perfledger_profiles/timeline",
        """A trace beyond a limit is read in part, with a note. A share is a threshold: it decides
        whether a reading is reported.""",
    ),
    "benchmarks": (
        "files of benchmark tools",
        "runners/perfledger_profiles/benchmark_tools",
        """A reader refuses a file beyond a limit, or reads a part of it and adds a note.""",
    ),
    "judging": (
        "judging and history",
        "baselines/perfledger_baselines",
        """With less evidence than the minimum, a verdict is undecided and nothing raises an
        alert.""",
    ),
    "utilization": (
        "telemetry of devices",
        "cost_models/perfledger_cost_models/telemetry",
        """A reader refuses an export beyond a limit and names the place. Over less time than the
        minimum, utilization is reported without advice.""",
    ),
    "serving": (
        "load tests and replicas of a server",
        "cost_models/perfledger_cost_models/serving",
        """A reader refuses a load test beyond a limit. A plan within these distances and chances is
        the answer; beyond them it asks for a measurement.""",
    ),
    "queues": (
        "simulated queues of jobs",
        "cost_models/perfledger_cost_models/scheduling",
        """A reader refuses a file or a job beyond a limit and names the place.""",
    ),
    "forecasting": (
        "forecasts of demand",
        "cost_models/perfledger_cost_models/forecasting",
        """With a shorter series than the minimum there is no forecast, or a simpler one.""",
    ),
    "prices": (
        "price sheets",
        "cost_models/perfledger_cost_models/prices",
        """A row beyond a limit is left out and named. A figure beyond a plausibility threshold
        stays and gets a warning.""",
    ),
    "costs": (
        "fleets, bills and costs",
        "cost_models/perfledger_cost_models",
        """A reader refuses a file or an entry beyond a limit and names the place. A figure beyond
        a plausibility threshold stays and gets a warning.""",
    ),
}
NOTE = (
    "A test checks that every limit and explained constant of the code is here with its value. "
    f"`{UPDATE}=1 pytest tests/test_limits.py` writes this page."
)


@dataclass(frozen=True, slots=True)
class Limit:
    """A constant of a module, with the comment beside or above it."""

    path: Path  # relative to the repository
    name: str
    value: str
    comment: str


def limits_of(path: Path) -> Iterator[Limit]:
    """Yield a file's amounts that are called like limits, or are public and explained."""
    text = (ROOT / path).read_text(encoding="utf-8")
    lines = text.splitlines()
    nodes = [(name, node) for node in ast.parse(text).body for name in names_of(node)]
    if not nodes:
        return
    module = importlib.import_module(".".join(path.with_suffix("").parts[1:]))
    for name, node in nodes:
        value, comment = getattr(module, name), comment_at(lines, node)
        is_explained = comment and not name.startswith("_") and not NUMBER_OF.search(name)
        if LIMIT.fullmatch(name):
            shown = amount(value, name)
        elif is_explained and not path.is_relative_to(DRAWN) and path.stem not in INTERFACES:
            shown = amounts(value, name)
        else:
            shown = ""
        if shown:
            yield Limit(path, name, shown, comment)


def names_of(node: ast.stmt) -> list[str]:
    """Return the names of the constants that a statement sets."""
    match node:
        case ast.Assign(targets=[ast.Tuple(elts=targets)]):
            pass
        case ast.Assign(targets=targets):
            pass
        case ast.AnnAssign(target=target):
            targets = [target]
        case _:
            targets = []
    return [each.id for each in targets if isinstance(each, ast.Name) and each.id.isupper()]


def amount(value: object, name: str) -> str:
    """Return an amount as people write it, every digit of it; nothing for what is no amount."""
    match value:
        case bool():
            return ""
        case int() if "BYTES" in name:
            return f"{value:,} ({in_bytes(value)})" if value >= KIB else f"{value}"
        case int():
            return f"{value:,}"
        case float() | Decimal() | Fraction() | timedelta():
            return str(value)
        case _:
            return ""


def amounts(value: object, name: str) -> str:
    """Return an amount, or each of a few."""
    if isinstance(value, tuple) and len(value) <= MOST_AMOUNTS:
        texts = [amount(each, name) for each in value]
        return ", ".join(texts) if all(texts) else ""
    return amount(value, name)


def in_bytes(value: int) -> str:
    """Return a size in the largest unit that is not larger."""
    size, unit = next(each for each in UNITS if value >= each[0])
    return f"{value / size:.4g} {unit}"


def comment_at(lines: list[str], node: ast.stmt) -> str:
    """Return the comment behind a statement of one line, else the one above it."""
    line = lines[node.lineno - 1]
    if node.lineno == node.end_lineno and "  # " in line:
        return line.partition("  # ")[2].partition("noqa")[0].rstrip("# ")
    above: list[str] = []
    for each in reversed(lines[: node.lineno - 1]):
        if not each.startswith("# "):
            break
        above.insert(0, each.removeprefix("# "))
    return " ".join(above)


def limits_under(folder: str) -> Iterator[Limit]:
    """Yield the limits of a folder, without those of folders that have a page of their own."""
    within = [
        ROOT / other
        for _, other, _ in PAGES.values()
        if other != folder and Path(other).is_relative_to(folder)
    ]
    for path in sorted((ROOT / folder).rglob("*.py")):
        if "migrations" not in path.parts and not any(map(path.is_relative_to, within)):
            yield from limits_of(path.relative_to(ROOT))


def page(title: str, folder: str, beyond: str) -> str:
    """Return the text of a page: a table for each folder."""
    parts = [
        f"# Limits: {title}",
        *(fill(" ".join(text.split()), MAX_LINE) for text in (beyond, NOTE)),
    ]
    for parent, limits in groupby(limits_under(folder), key=lambda limit: limit.path.parent):
        parts.append(f"## `{parent.relative_to(parent.parts[0])}`")
        rows = [
            f"| `{limit.path.stem}` | `{limit.name}` | {limit.value} | {cell(limit.comment)} |"
            for limit in limits
        ]
        parts.append("\n".join(["| module | constant | value | |", "|---|---|---|---|", *rows]))
    return "\n\n".join(parts) + "\n"


def cell(text: str) -> str:
    return text.replace("|", "\\|")


@pytest.mark.parametrize("name", PAGES)
def test_the_limits_of_a_part_stand_on_its_page_with_their_values(name):
    path, text = FOLDER / f"{name}.md", page(*PAGES[name])
    if os.environ.get(UPDATE) == "1":
        path.write_text(text, encoding="utf-8")

    assert text == path.read_text(encoding="utf-8"), f"run again with {UPDATE}=1 if intended"


def test_every_page_is_of_a_part():
    assert {path.stem for path in FOLDER.iterdir()} == {"README", *PAGES}
