"""What outlives a process is documented field by field, or this fails."""

import ast
import re
from dataclasses import fields, is_dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import get_args, get_type_hints

import pytest

from perfledger.bundle import Bundle
from perfledger.metrics import METRICS
from perfledger.protocol import MessageType
from perfledger.records import FailureReason
from perfledger_runners import safe_text
from perfledger_runners.bundles import (
    files as bundle_files,
    validation as bundle_checks,
    value_checks,
)
from perfledger_runners.children.protocol_parser import AnyMessage

RUNNERS = Path(__file__).parents[2] / "runners"
README = (RUNNERS / "README.md").read_text(encoding="utf-8")
BUNDLE = (RUNNERS.parent / "docs" / "reference" / "bundle.md").read_text(encoding="utf-8")
SDK_README = (RUNNERS / "perfledger" / "README.md").read_text(encoding="utf-8")
PROFILES = RUNNERS / "perfledger_profiles"


def dataclasses_of(hint, classes):
    """Collect the dataclasses that a type is made of."""
    if is_dataclass(hint) and hint not in classes:
        classes.append(hint)
        for inner in get_type_hints(hint).values():
            dataclasses_of(inner, classes)
    for inner in get_args(hint):
        dataclasses_of(inner, classes)
    return classes


def section(name):
    """Return the paragraph or table under the bold name."""
    match = re.search(rf"^\*\*{name}\*\*(.*?)(?=^\*\*|^#|\Z)", BUNDLE, re.DOTALL | re.MULTILINE)
    assert match, f"{name} has no paragraph"
    return match[1]


MEMBERS = dataclasses_of(Bundle, [])


def test_the_members_are_found_through_tuples_and_mappings():
    assert {"Machine", "Run", "Operation", "FleetUse"} <= {each.__name__ for each in MEMBERS}


@pytest.mark.parametrize("member", MEMBERS, ids=lambda member: member.__name__)
def test_every_field_of_the_bundle_is_named(member):
    text = section(member.__name__)

    assert [field.name for field in fields(member) if f"`{field.name}`" not in text] == []


@pytest.mark.parametrize("name", [*METRICS, *FailureReason])
def test_every_metric_and_reason_is_named(name):
    assert f"`{name}`" in README + BUNDLE


def reading_names():
    """Return the names of readings that the readers of profiles write out in full."""
    texts = (path.read_text(encoding="utf-8") for path in PROFILES.rglob("*.py"))
    trees = [ast.parse(text) for text in texts if "ProfileReading(" in text]
    return {
        keyword.value.value
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "ProfileReading"
        for keyword in node.keywords
        if keyword.arg == "name" and isinstance(keyword.value, ast.Constant)
    }


def test_every_reading_of_a_trace_is_listed():
    names, readme = reading_names(), (PROFILES / "README.md").read_text(encoding="utf-8")
    listed = re.findall(r"`(\w+\*?)`", readme.partition("## Readings")[2].partition("\n## ")[0])

    assert {"gpu_busy", "comm_time", "tc_eligible"} <= names
    assert [each for each in sorted(names) if not any(fnmatchcase(each, n) for n in listed)] == []


@pytest.mark.parametrize("event", list(MessageType))
def test_every_event_is_named(event):
    assert f"- `{event}`" in SDK_README


def test_every_field_of_every_message_is_named():
    items = dict(
        re.findall(r"^- `([\w ]+)`: (.*?)(?=^- |^$)", SDK_README, re.MULTILINE | re.DOTALL)
    )

    for message in get_args(AnyMessage):
        tag = message.__struct_config__.tag
        own = set(message.__struct_fields__) - {"version"}
        if tag != "workload":  # a WorkloadSpec's, which has a paragraph
            missing = {name for name in own if f"`{name}`" not in items[tag]}
            assert missing == set(), tag


def test_the_limits_are_the_ones_in_force():
    text = " ".join(BUNDLE.split())

    assert f"{bundle_files.MAX_PLAIN_BYTES // 2**20} MiB" in text
    assert f"{bundle_files.MAX_UNPACKED_BYTES // 2**20} MiB unpacked" in text
    assert f"{bundle_files.MAX_VALUES:,} values" in text
    assert f"{bundle_checks.MAX_WORKLOADS:,} workloads" in text
    assert f"words over {value_checks.MAX_WORD} characters" in text
    assert f"details over {safe_text.MAX_DETAIL:,}" in text
    assert f"logs over {value_checks.MAX_LOG:,}" in text


@pytest.mark.parametrize(
    "path", sorted(RUNNERS.rglob("README.md")), ids=lambda path: str(path.relative_to(RUNNERS))
)
def test_a_readme_is_short_enough_to_read(path):
    lines = path.read_text(encoding="utf-8").splitlines()

    assert len(lines) <= 250
    assert [line for line in lines if len(line) > 120] == []


def test_the_first_lines_name_the_three_packages():
    introduction = README.partition("\n## ")[0]

    assert [
        name
        for name in ("perfledger", "perfledger_runners", "perfledger_profiles")
        if f"[`{name}`]({name}/README.md)" not in introduction
    ] == []
