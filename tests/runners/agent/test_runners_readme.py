"""What outlives a process is documented field by field, or this fails."""

import re
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import get_args, get_type_hints

import pytest

from perfledger.bundle import Bundle
from perfledger.metrics import METRICS
from perfledger.protocol import Event
from perfledger.records import Why
from perfledger_runners import bundle_checks, bundles
from perfledger_runners.messages import Answer

README = (Path(__file__).parents[3] / "runners" / "README.md").read_text(encoding="utf-8")


def dataclasses_of(hint, found):
    """Collect the dataclasses that a type is made of."""
    if is_dataclass(hint) and hint not in found:
        found.append(hint)
        for inner in get_type_hints(hint).values():
            dataclasses_of(inner, found)
    for inner in get_args(hint):
        dataclasses_of(inner, found)
    return found


def section(name):
    """The paragraph or table under the bold name."""
    match = re.search(rf"^\*\*{name}\*\*(.*?)(?=^\*\*|^#)", README, re.DOTALL | re.MULTILINE)
    assert match, f"{name} has no paragraph"
    return match[1]


MEMBERS = dataclasses_of(Bundle, [])


def test_the_members_are_found_through_tuples_and_mappings():
    assert {"Machine", "Run", "Operation", "FleetUse"} <= {each.__name__ for each in MEMBERS}


@pytest.mark.parametrize("member", MEMBERS, ids=lambda member: member.__name__)
def test_every_field_of_the_bundle_is_named(member):
    text = section(member.__name__)

    assert [field.name for field in fields(member) if f"`{field.name}`" not in text] == []


@pytest.mark.parametrize("name", [*METRICS, *Event, *Why])
def test_every_metric_event_and_reason_is_named(name):
    assert f"`{name}`" in README


def test_every_field_of_every_message_is_named():
    rows = dict(re.findall(r"^\| `(\w+)` \| (.*)$", README, re.MULTILINE))

    for message in get_args(Answer):
        tag = message.__struct_config__.tag
        own = set(message.__struct_fields__) - {"version"}
        if tag != "workload":  # a WorkloadSpec's, which has a paragraph
            missing = {name for name in own if f"`{name}`" not in rows[tag]}
            assert missing <= {"why"}, tag


def test_the_limits_are_the_ones_in_force():
    assert f"{bundles.MAX_PLAIN_BYTES // 2**20} MiB" in README
    assert f"{bundles.MAX_UNPACKED_BYTES // 2**20} MiB unpacked" in README
    assert f"{bundles.MAX_VALUES:,} values" in README
    assert f"{bundle_checks.MAX_WORKLOADS:,}\nworkloads" in README
    assert f"words over {bundle_checks.MAX_WORD} characters" in README
    assert f"details over {bundle_checks.MAX_DETAIL:,}" in README
    assert f"logs over {bundle_checks.MAX_LOG:,}" in README
