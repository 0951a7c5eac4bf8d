"""Every limit, threshold and constant of a method stands in docs/reference/limits with its value.

So does every table: what the code knows of devices, units and the columns of others' files.
PERFLEDGER_UPDATE_GOLDEN=1 writes the pages.
"""

import ast
import importlib
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from datetime import timedelta
from decimal import Decimal
from fractions import Fraction
from functools import cache
from itertools import groupby
from pathlib import Path
from textwrap import fill

import pytest

from tests.product.limit_pages import PAGES, TABLES

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "docs" / "reference" / "limits"
MAX_LINE = 120
KIB = 2**10
UNITS = ((2**30, "GiB"), (2**20, "MiB"), (KIB, "KiB"))
UPDATE = "PERFLEDGER_UPDATE_GOLDEN"
# What a limit is called: the most or the least of something, an amount in its unit, or how sure a
# statement is. It is listed without a comment too.
LIMIT = re.compile(
    r"_?(MAX|MIN|MOST|FEWEST|LONGEST|SHORTEST|LARGEST|SMALLEST|LEAST|DEFAULT)(_[A-Z0-9_]+)?"
    r"|_?[A-Z][A-Z0-9_]*_(BYTES|SECONDS|S|MS|ROWS|DAYS|HOURS|SHARE|TIMEOUT|PER_PAGE)"
    r"|_?([A-Z0-9_]+_)?(PERIOD|INTERVAL|WAIT|CONFIDENCE|COVERAGE|TOLERANCE|SEED|QUANTILES)"
)
# Public constants that a comment explains are listed too, but not sizes in a picture or what an
# interface of others calls by a number.
DRAWN = Path("service/perfledger_service/rendering")
INTERFACES = {"nvml"}
NUMBER_OF = re.compile("VERSION|FIELD")
MAX_NUMBERS = 250  # of a table; a curve is none
PLAIN = {int, float, str, Decimal, Fraction, timedelta}
# A statement at the margin that may set a constant; other files are not parsed.
MAY_SET = re.compile(r"^[A-Z_][A-Z0-9_]*(?: = |: |, )", re.MULTILINE)
NO_TABLE = re.compile("NO_|REGISTERED")  # what stands for nothing, or fills at run time
NEED_TORCH = {Path("runners/perfledger/canaries/torch_canaries.py")}  # which some Pythons lack
MAX_AMOUNTS = 10  # of a constant; the steps of a curve are no limits
NOTE = (
    "A test checks that every limit and explained constant of the code is here with its value. "
    f"`{UPDATE}=1 pytest tests/test_limits.py` writes this page."
)
TABLES_BEGIN = (
    "What the code knows of devices, units, statuses, and the columns and numbers of others' "
    "files. Names are those of the code; an entry of several parts has one line."
)


@dataclass(frozen=True, slots=True)
class Limit:
    """A constant of a module, with the comment beside or above it."""

    path: Path  # relative to the repository
    name: str
    value: str
    comment: str


@cache
def constants_of(path: Path) -> tuple[list[str], list[tuple[str, ast.stmt]]]:
    """Return a file's lines, and the statements that set its constants."""
    text = (ROOT / path).read_text(encoding="utf-8")
    if path in NEED_TORCH or not MAY_SET.search(text):
        return [], []
    nodes = [(name, node) for node in ast.parse(text).body for name in names_of(node)]
    return text.splitlines(), nodes


def limits_of(path: Path) -> Iterator[Limit]:
    """Yield a file's amounts that are called like limits, or are public and explained."""
    lines, nodes = constants_of(path)
    if not nodes:
        return
    module = importlib.import_module(".".join(path.with_suffix("").parts[1:]))
    for name, node in nodes:
        value, comment = getattr(module, name), comment_at(lines, node)
        is_number_of = name.startswith("_") or NUMBER_OF.search(name) or path.stem in INTERFACES
        is_explained = comment and not is_number_of and not path.is_relative_to(DRAWN)
        text = amounts(value, name) if is_explained or LIMIT.fullmatch(name) else ""
        if text:
            yield Limit(path, name, text, comment)


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
    if isinstance(value, tuple) and len(value) <= MAX_AMOUNTS:
        texts = [amount(each, name) for each in value]
        return ", ".join(texts) if all(texts) else ""
    return amount(value, name)


def tables_under(folder: str) -> Iterator[Limit]:
    """Yield the tables of a source root: constants of several numbers, of which no limit is one."""
    for path in sorted((ROOT / folder).rglob("*.py")):
        relative = path.relative_to(ROOT)
        if "migrations" in path.parts:
            continue
        lines, nodes = constants_of(relative)
        if not nodes:
            continue
        is_drawn = relative.is_relative_to(DRAWN)
        limits = {limit.name for limit in limits_of(relative)}
        module = importlib.import_module(".".join(relative.with_suffix("").parts[1:]))
        for name, node in nodes:
            value = getattr(module, name)
            is_left_out = NO_TABLE.match(name) or (is_drawn and name.startswith("_"))
            if name not in limits and not is_left_out and is_table(value):
                comment = comment_at(lines, node)
                yield Limit(relative, name, rows_of(value), comment)


def is_table(value: object) -> bool:
    """Return whether a value has entries, a number among them, and is no curve."""
    has_entries = isinstance(value, (Mapping, tuple, frozenset, range))
    return has_entries and 0 < len([*numbers_in(value)]) <= MAX_NUMBERS


def numbers_in(value: object) -> Iterator[object]:
    """Yield the numbers of a value."""
    match value:
        case bool() | str():
            pass
        case int() | float() | Decimal() | Fraction() | timedelta():
            yield value
        case Mapping():
            yield from numbers_in((*value.keys(), *value.values()))
        case tuple() | frozenset() | range():
            for each in value:
                yield from numbers_in(each)
        case _ if is_dataclass(value):
            yield from numbers_in(tuple(getattr(value, field.name) for field in fields(value)))
        case _:
            pass


def rows_of(value: object) -> str:
    """Return a table's rows: an item for each entry that has parts, else one for all."""
    match value:
        case Mapping() if not {*map(type, value.values())} <= PLAIN:
            rows = [f"- {entry(key)}: {entry(each)}" for key, each in value.items()]
        case tuple() if not hasattr(value, "_fields") and not {*map(type, value)} <= PLAIN:
            rows = [f"- {entry(each)}" for each in value]
        case _:
            rows = [f"- {entry(value)}"]
    return "\n".join(fill(row, MAX_LINE, subsequent_indent="  ") for row in rows)


def entry(value: object) -> str:
    """Return a value of a table as people write it."""
    match value:
        case Mapping():
            return "; ".join(f"{entry(key)} {entry(each)}" for key, each in value.items())
        case frozenset():
            return ", ".join(sorted(map(entry, value)))
        case tuple() | range():
            return ", ".join(map(entry, value))
        case _ if is_dataclass(value) and not isinstance(value, type):
            named = ((field.name, getattr(value, field.name)) for field in fields(value))
            return "; ".join(f"{name} {entry(each)}" for name, each in named)
        case _:
            return plain_entry(value)


def plain_entry(value: object) -> str:
    """Return a text, a number or the name of anything else."""
    match value:
        case str():
            return f"`{value}`" if value else "(none)"
        case float():
            return f"{value:.9g}"
        case int() | Decimal() | Fraction() | timedelta() | None:
            return str(value)
        case _:
            return f"`{getattr(value, '__name__', type(value).__name__)}`"


def tables_page(title: str, parent: str, folders: str) -> str:
    """Return the text of a page of tables."""
    texts = (TABLES_BEGIN, NOTE.replace("limit and explained constant", "table"))
    parts = [f"# Tables: {title}", *(fill(text, MAX_LINE) for text in texts)]
    for folder in folders.split():
        for table in tables_under(f"{parent}/{folder}"):
            module = ".".join(table.path.with_suffix("").parts[1:])
            parts.append(f"## `{module}`: `{table.name}`")
            if table.comment:
                parts.append(fill(table.comment, MAX_LINE))
            parts.append(table.value)
    return "\n\n".join(parts) + "\n"


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


def cell(comment: str) -> str:
    """Return a comment's first sentence, which says what is limited; reasons stay in the code."""
    first = re.split(r"(?<=[^.][a-z0-9)%`][.!?]) (?=[A-Z])", comment, maxsplit=1)[0]
    return first.replace("|", "\\|")


@pytest.mark.parametrize("name", PAGES)
def test_the_limits_of_a_part_stand_on_its_page_with_their_values(name):
    path, text = FOLDER / f"{name}.md", page(*PAGES[name])
    if os.environ.get(UPDATE) == "1":
        path.write_text(text, encoding="utf-8")

    assert text == path.read_text(encoding="utf-8"), f"run again with {UPDATE}=1 if intended"


def test_every_page_is_of_a_part():
    assert {path.stem for path in FOLDER.iterdir()} == {"README", *TABLES, *PAGES}


@pytest.mark.parametrize("name", TABLES)
def test_the_tables_stand_on_their_page_with_their_numbers(name):
    path, text = FOLDER / f"{name}.md", tables_page(*TABLES[name])
    if os.environ.get(UPDATE) == "1":
        path.write_text(text, encoding="utf-8")

    assert text == path.read_text(encoding="utf-8"), f"run again with {UPDATE}=1 if intended"
