"""Presents the device-hours a year of a fleet's workloads."""

import json

from perfledger.rounding import for_programs, integer
from perfledger_cost_models.change_price.fleet_hours import (
    FleetProfile,
    UsageMatcher,
    YearlyFleetHours,
)
from perfledger_cost_models.job_logs.gaps import gap_sentence
from perfledger_service.rendering.layout import number_format
from perfledger_service.rendering.layout.document import (
    Column,
    Document,
    display,
    fact,
    figure,
    name,
    sentences,
    table,
)
from perfledger_service.rendering.layout.escape import MAX_LONG_NAME, clean

# All digits of a float: the tables are read again.
_MAX_DIGITS = 15
_COLUMNS: tuple[Column[YearlyFleetHours], ...] = (
    name("workload", "workload", lambda use: use.workload, limit=MAX_LONG_NAME),
    name("where", "on", lambda use: use.where, limit=MAX_LONG_NAME),
    fact("counted_hours", lambda use: use.counted_hours),
    fact("low_hours_per_year", lambda use: use.low),
    figure("hours_per_year", "device-hours a year", lambda use: use.mode, number_format.count),
    fact("high_hours_per_year", lambda use: use.high),
    display(
        "99 %",
        lambda use: number_format.interval(use.low, use.high, number_format.count),
    ),
    figure("jobs", "jobs", lambda use: use.jobs),
)


def fleet_document(profile: FleetProfile) -> Document:
    """Return each workload's hours, and the hours that match no workload."""
    lines = [
        f"{profile.source}: {integer(profile.days)} days",
        *unmatched_sentences(profile),
    ]
    if profile.gaps:
        lines.append(gap_sentence(profile.gaps))
    if profile.unmatched_hours:
        names = ", ".join(
            f"{clean(label, limit=MAX_LONG_NAME) or 'no name'} {number_format.count(hours)}"
            for label, hours in profile.unmatched
        )
        hours = number_format.count(profile.unmatched_hours)
        lines.append(f"{hours} device-hours of the period match no workload: {names}")
    return Document(
        name="perfledger-fleet",
        version=2,
        facts={
            "unit": "device-hours",
            "source": profile.source,
            "start": profile.start,
            "as_of": profile.end,
            "unmatched": [
                {"match": matcher.match, "workload": matcher.workload, "where": matcher.where}
                for matcher in profile.unused_matchers
            ],
            "unclaimed_hours": profile.unmatched_hours,
            "largest_unclaimed": [
                {"name": label, "counted_hours": hours} for label, hours in profile.unmatched
            ],
        },
        row_facts=("source", "as_of"),
        blocks=(
            table(_COLUMNS, profile.uses, key="fleet"),
            *sentences(lines, names=[profile.source]),
        ),
    )


def unmatched_sentences(profile: FleetProfile) -> tuple[str, ...]:
    """Return the usage tables that matched no record; they are left out, not counted as zero."""
    return tuple(
        f"no record matches {_matcher(matcher)}: left out" for matcher in profile.unused_matchers
    )


def fleet_toml(profile: FleetProfile) -> str:
    """Return a fleet profile as the tables of perfledger.toml."""
    lines = ["# Written by `perfledger fleet hours`; in pyproject.toml: [[tool.perfledger.fleet]]"]
    for use in profile.uses:
        lines += [
            "",
            "[[fleet]]",
            f"workload = {_toml(use.workload)}",
            f"where = {_toml(use.where)}",
            f"device_hours_per_year = {_tenths(use.mode)}",
            f"low = {_tenths(use.low)}",
            f"high = {_tenths(use.high)}",
            f"source = {_toml(profile.source)}",
        ]
    return "\n".join(lines) + "\n"


def _matcher(matcher: UsageMatcher) -> str:
    labels = ", ".join(f"{key}={glob}" for key, glob in matcher.match.items())
    match, workload, where = (
        clean(text, limit=MAX_LONG_NAME) for text in (labels, matcher.workload, matcher.where)
    )
    return f"{match} ({workload} on {where})"


def _toml(text: str) -> str:
    """Return a TOML string: JSON's escapes, and DEL, which TOML also requires to be escaped."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _tenths(hours: float) -> str:
    return for_programs(round(hours, 1), most=_MAX_DIGITS)
