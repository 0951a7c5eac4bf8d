"""Cuts a profile down to the figures that its advice depends on.

    python benchmarks/profiles/advice_cases.py SOURCE FILE [PATTERN] > case.json

reads a recording with our own reader and writes the few rows of its profile from which the rules of
advice conclude what they conclude from all of them, to four digits. The folder
tests/runners/profiles/bottleneck/advice_cases holds such figures of public recordings and of our
own; SOURCE says of which. The longest rows that match PATTERN stay, whatever they decide.
"""

import json
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from perfledger.profile import Operation, Profile
from perfledger.records import Side
from perfledger_profiles.bottleneck.classifier import classify
from perfledger_profiles.bottleneck.recommendations import recommendations
from perfledger_profiles.formats import read_profile
from perfledger_profiles.timeline.breakdown import OTHER_OPERATIONS

READINGS = ("comm_overlap", "comm_message_bytes", "comm_start_skew", "bus_bw_of_curve")
# Rows that a rule could nearly take for a trigger stay.
KEPT_SHARE = 0.05
KEPT_ROWS = 8
KEPT_KERNELS = 4
# By how much a share may move when rows go.
TOLERANCE = 0.02
DIGITS = 4
MAX_NAME = 100
# What no rule reads.
UNREAD = ("registers", "shared_memory_bytes", "grid", "block", "occupancy", "lines")


def main(source: str, path: Path, pattern: str = "(?!)") -> None:
    profile = read_profile(path, workload="case", side=Side.HEAD)
    case = _without_rows(
        replace(
            profile,
            readings=tuple(one for one in profile.readings if one.name in READINGS),
            slices=(),
            memory=(),
            collectives=(),
            devices=(),
            call_times=(),
            notes=(),
        ),
        re.compile(pattern),
    )
    record = {"source": source, **_pruned(msgspec.to_builtins(_with_short_names(case)))}
    print("{")
    print(",\n".join(f"{json.dumps(key)}: {_lines(value)}" for key, value in record.items()))
    print("}")


def _lines(value: Any) -> str:
    """Return JSON with one row of a table on each line."""
    if not isinstance(value, list):
        return json.dumps(value, ensure_ascii=False)
    rows = ",\n".join(f" {json.dumps(row, ensure_ascii=False)}" for row in value)
    return f"[\n{rows}\n]"


def _with_short_names(profile: Profile) -> Profile:
    """Return a profile with the beginnings of its names, if the rest decides nothing."""
    short = replace(
        profile,
        operations=tuple(replace(one, name=one.name[:MAX_NAME]) for one in profile.operations),
        kernels=tuple(replace(one, name=one.name[:MAX_NAME]) for one in profile.kernels),
    )
    return short if _agree(_conclusion(short), _conclusion(profile)) else profile


def _without_rows(profile: Profile, pattern: re.Pattern[str]) -> Profile:
    """Return a profile without the rows that change no advice."""
    kept_seconds = KEPT_SHARE * profile.step_seconds
    rows = sorted(profile.operations, key=lambda operation: operation.seconds)
    chosen = [row for row in rows if pattern.search(f"{row.path}/{row.name} {row.shapes}")]
    stay = {id(row) for row in chosen[-KEPT_ROWS:]}
    small = [
        row
        for row in rows
        if row.seconds < kept_seconds and row.name != OTHER_OPERATIONS and id(row) not in stay
    ]
    gone = _removable(small, lambda rest: _conclusion(_merged(profile, rest)))
    profile = _merged(profile, gone)
    kernels = sorted(profile.kernels, key=lambda kernel: kernel.seconds)[:-KEPT_KERNELS]

    def without(rest: Sequence[Any]) -> Profile:
        names = {id(kernel) for kernel in rest}
        return replace(profile, kernels=tuple(k for k in profile.kernels if id(k) not in names))

    return without(_removable(kernels, lambda rest: _conclusion(without(rest))))


def _removable(rows: Sequence[Any], conclude: Callable[[Sequence[Any]], Any]) -> list[Any]:
    """Return the rows that may all go without another conclusion, in chunks of falling size."""
    before = conclude(())
    gone: list[Any] = []
    rest = list(rows)
    for size in (64, 16, 4, 1):
        chunks = [rest[index : index + size] for index in range(0, len(rest), size)]
        rest = []
        for chunk in chunks:
            if _agree(conclude([*gone, *chunk]), before):
                gone += chunk
            else:
                rest += chunk
    return gone


def _agree(conclusion: Any, before: Any) -> bool:
    (label, advice), (old_label, old_advice) = conclusion, before
    return (
        label == old_label
        and advice.keys() == old_advice.keys()
        and all(
            abs(mine - old) <= TOLERANCE
            for text, values in advice.items()
            for mine, old in zip(values, old_advice[text], strict=True)
        )
    )


def _conclusion(profile: Profile) -> Any:
    bottleneck = classify(profile)
    advice = {
        one.text: (one.share, one.saved_share) for one in recommendations(profile, bottleneck)
    }
    return (bottleneck.primary, bottleneck.detail), advice


def _merged(profile: Profile, gone: Sequence[Operation]) -> Profile:
    """Return a profile in which these operations are part of their bucket's rest."""
    places = {id(operation) for operation in gone}
    stay = [one for one in profile.operations if id(one) not in places]
    rest = {one.bucket: one for one in stay if one.name == OTHER_OPERATIONS}
    rows = [one for one in stay if one.name != OTHER_OPERATIONS]
    for one in gone:
        before = rest.get(
            one.bucket,
            replace(one, name=OTHER_OPERATIONS, seconds=0.0, count=0.0, shapes="", path=""),
        )
        rest[one.bucket] = replace(
            before, seconds=before.seconds + one.seconds, count=before.count + one.count
        )
    return replace(profile, operations=(*rows, *rest.values()))


def _pruned(value: Any) -> Any:
    """Return a value without empty fields, its numbers to some digits."""
    if isinstance(value, dict):
        return {
            key: _pruned(one)
            for key, one in value.items()
            if key not in UNREAD and one not in (None, "", (), [], {})
        }
    if isinstance(value, list | tuple):
        return [_pruned(one) for one in value]
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    main(sys.argv[1], Path(sys.argv[2]), *sys.argv[3:])
