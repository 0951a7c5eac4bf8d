"""Finds what is wrong with the arguments of a workload's registration.

Each function returns a sentence; "" if the argument is fine.
"""

import math
import shlex
from collections.abc import Collection, Mapping, Sequence
from typing import TypeGuard

from perfledger.records import Param
from perfledger.rounding import typed
from perfledger.time_units import SECONDS_PER_DAY

MAX_ID_LENGTH = 300  # a cell of a table
MAX_UNIT_LENGTH = 40  # a unit is a column head, not a sentence
MAX_SET_UPS = 20  # per process, which has some thirty turns
MAX_TEXT_LENGTH = 100  # of a parameter's value, which becomes part of an id
FORBIDDEN_IN_TEXT = ",[]\"'`"  # they would make an id ambiguous or break a code span
MAX_TIMEOUT_S = float(SECONDS_PER_DAY)  # a day: a check has less time
MAX_TAGS = 20  # of one workload
MAX_TAG_LENGTH = 40  # a word, not a sentence: reports list tags in a row
MAX_WORKLOAD_DEVICES = 64  # of one workload: more than a host has
MAX_LAUNCH_LENGTH = 500  # a launcher with its options and paths
TAG_MARKS = "_-.:/+"  # in a word of a `-k` expression, beside letters and digits


def id_fault(name: str) -> str:
    """Return what is wrong with the id of a workload at one point of its grid."""
    if len(name) <= MAX_ID_LENGTH:
        return ""
    return f"its id has more than {MAX_ID_LENGTH} letters: shorten the values in {name[:80]}..."


def unit_fault(unit: object) -> str:
    """Return what is wrong with the unit of work."""
    is_word = isinstance(unit, str) and 0 < len(unit) <= MAX_UNIT_LENGTH and unit.isprintable()
    return "" if is_word else f"unit {unit!r} is not a word of at most {MAX_UNIT_LENGTH} letters"


def amount_fault(units: object) -> str:
    """Return what is wrong with the units of a step."""
    if _is_number(units) and units > 0:
        return ""
    return f"units_per_step {units!r} is neither a positive number nor a function"


def set_ups_fault(set_ups: object) -> str:
    """Return what is wrong with the number of set-ups."""
    is_fine = type(set_ups) is int and 1 <= set_ups <= MAX_SET_UPS
    return "" if is_fine else f"set_ups {set_ups!r} is not a number from 1 to {MAX_SET_UPS}"


def devices_fault(devices: object) -> str:
    """Return what is wrong with the number of devices; None means one."""
    if devices is None or (type(devices) is int and 1 <= devices <= MAX_WORKLOAD_DEVICES):
        return ""
    return f"devices {devices!r} is not a number from 1 to {MAX_WORKLOAD_DEVICES}"


def launch_fault(launch: object) -> str:
    """Return what is wrong with the command that starts the ranks; "" means no command."""
    if not isinstance(launch, str) or len(launch) > MAX_LAUNCH_LENGTH or not _is_line(launch):
        return f"launch {launch!r:.80} is not a command of at most {MAX_LAUNCH_LENGTH} letters"
    return ""


def tolerance_fault(value: float) -> str:
    """Return what is wrong with a relative tolerance."""
    return "" if 0 <= value < 1 else f"check_tolerance {value!r} is not a share from 0 to below 1"


def timeout_fault(timeout: object) -> str:
    """Return what is wrong with a time limit in seconds; None means no limit."""
    if timeout is None or (_is_number(timeout) and 0 < timeout <= MAX_TIMEOUT_S):
        return ""
    longest = typed(MAX_TIMEOUT_S)
    return f"timeout {timeout!r} is not a number of seconds, above 0 and up to {longest}"


def margin_fault(margin: object) -> str:
    """Return what is wrong with the relative change that counts as unchanged; None means none."""
    if margin is None or (_is_number(margin) and 0 < margin < 1):
        return ""
    return f"margin {margin!r} is not a relative change above 0 and below 1, such as 0.02 for 2 %"


def metrics_fault(names: Collection[object], choices: Collection[str]) -> str:
    """Return what is wrong with the names of the metrics that judge the workload."""
    if len(set(map(str, names))) < len(names):
        return f"metrics has a name twice: {', '.join(map(str, names))}"
    unknown = next((name for name in names if name not in choices), None)
    if unknown is None:
        return ""
    return f"metrics has {unknown!r}, which is not one of {', '.join(choices)}"


def tags_fault(tags: Collection[object]) -> str:
    """Return what is wrong with the tags."""
    if len(tags) > MAX_TAGS or len(set(map(str, tags))) < len(tags):
        return f"it has {len(tags)} tags: give at most {MAX_TAGS}, each only once"
    for tag in tags:
        if not isinstance(tag, str) or not 0 < len(tag) <= MAX_TAG_LENGTH or not _is_word(tag):
            return (
                f"tag {tag!r} is not a word of at most {MAX_TAG_LENGTH} letters, digits and "
                f"{TAG_MARKS}"
            )
    return ""


def grid_fault(grid: Mapping[str, tuple[Param, ...]], parameters: Collection[str]) -> str:
    """Return what is wrong with the values of the workload's `parameters`."""
    for name, values in grid.items():
        if name not in parameters:
            has = ", ".join(parameters) or "none"
            return f"it has no parameter {name!r}; its parameters: {has}"
        if not values or len(set(map(str, values))) < len(values):
            return f"parameter {name!r} needs values, each only once"
        for value in values:
            if fault := _value_fault(value):
                return f"parameter {name!r} has a value that is {fault}: {value!r}"
    return ""


def is_list(values: object) -> bool:
    """Return whether these are several values rather than a text."""
    return isinstance(values, Sequence) and not isinstance(values, str)


def _value_fault(value: object) -> str:
    match value:
        case float() if not math.isfinite(value):
            return "not a finite number"
        case bool() | int() | float():
            return ""
        case str() if not value or len(value) > MAX_TEXT_LENGTH or not value.isprintable():
            return f"not a printable text of at most {MAX_TEXT_LENGTH} letters"
        case str() if any(letter in FORBIDDEN_IN_TEXT for letter in value):
            return f"holds one of {FORBIDDEN_IN_TEXT}"
        case str():
            return ""
        case _:
            return "neither a number nor a text"


def _is_number(value: object) -> TypeGuard[float]:
    match value:
        case bool():
            return False
        case int() | float():
            return math.isfinite(value)
        case _:
            return False


def _is_line(launch: str) -> bool:
    try:
        return launch.isprintable() and (not launch or bool(shlex.split(launch)))
    except ValueError:  # a quotation that does not end
        return False


def _is_word(tag: str) -> bool:
    return all(letter.isalnum() or letter in TAG_MARKS for letter in tag)
