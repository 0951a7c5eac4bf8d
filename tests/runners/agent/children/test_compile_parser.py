"""Tests that what a child compiled is kept, and refused where it cannot be."""

import msgspec
import pytest

from perfledger.compile_record import MAX_NAME, MAX_PROGRAMS, CompiledProgram, CompileRecord
from perfledger_runners.children.compile_parser import CompiledPrograms

PROGRAM = {"name": "f", "count": 2, "seconds": 1.5}


def decoded(**fields):
    return msgspec.json.decode(msgspec.json.encode(fields), type=CompiledPrograms)


def test_phases_and_programs_are_kept():
    record = decoded(phases_s={"tracing": 0.5, "backend compile": 1.0}, programs=[PROGRAM]).record()

    assert record == CompileRecord(
        phases_s={"tracing": 0.5, "backend compile": 1.0},
        programs=(CompiledProgram(name="f", count=2, seconds=1.5),),
    )


@pytest.mark.parametrize(
    "fields",
    [
        {"phases_s": {"thinking": 1.0}},
        {"phases_s": {"tracing": -1.0}},
        {"phases_s": {"tracing": 1e39}},
        {"phases_s": None},
        {"programs": [PROGRAM] * (MAX_PROGRAMS + 1)},
        {"programs": [{**PROGRAM, "name": ""}]},
        {"programs": [{**PROGRAM, "name": "a\x1b"}]},
        {"programs": [{**PROGRAM, "name": "x" * (MAX_NAME + 1)}]},
        {"programs": [{**PROGRAM, "count": 0}]},
        {"programs": [{**PROGRAM, "count": 1.5}]},
        {"programs": [{**PROGRAM, "seconds": -1.0}]},
    ],
    ids=lambda fields: str(fields)[:60],
)
def test_what_no_framework_compiles_is_refused(fields):
    with pytest.raises(msgspec.ValidationError):
        decoded(**fields)
