"""What a run compiled and had in memory is read as written, and refused if impossible."""

import json
from dataclasses import replace

import pytest

from perfledger.compile_record import MAX_PROGRAMS, CompiledProgram, CompileRecord
from perfledger.records import MemoryReadings
from perfledger_runners.bundles.files import read_bundle
from perfledger_runners.bundles.value_checks import BundleError
from tests.runners.agent.bundles.validation.test_bundle_limits import BUNDLE

PROGRAM = CompiledProgram(name="f", count=2, seconds=0.25)
RECORD = CompileRecord(phases_s={"tracing": 0.25}, programs=(PROGRAM,))


def written(**fields):
    runs = (replace(BUNDLE.runs[0], compiled=replace(RECORD, **fields)),)
    return replace(BUNDLE, runs=runs).to_json().encode()


def test_it_is_read_as_it_was_written_and_an_older_bundle_has_none():
    assert read_bundle(written()).runs[0].compiled == RECORD
    document = json.loads(written())
    del document["runs"][0]["compiled"]
    assert read_bundle(json.dumps(document).encode()).runs[0].compiled is None


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ({"phases_s": {"dreaming": 1.0}}, r"phases_s: an unknown phase"),
        ({"phases_s": {"tracing": -1.0}}, r"compiled: an impossible time"),
        ({"programs": (replace(PROGRAM, seconds=1e39),)}, r"compiled: an impossible time"),
        ({"programs": (replace(PROGRAM, count=0),)}, r"programs: an impossible count"),
        ({"programs": (replace(PROGRAM, count=2**31 + 1),)}, r"programs: an impossible count"),
        ({"programs": (replace(PROGRAM, name="f" * 201),)}, r"programs: a name of more than 200"),
        ({"programs": (PROGRAM,) * (MAX_PROGRAMS + 1)}, r"programs: more than"),
    ],
)
def test_what_no_process_compiles_is_refused(fields, complaint):
    with pytest.raises(BundleError, match=complaint):
        read_bundle(written(**fields))


def test_readings_of_memory_that_are_impossible_are_refused():
    runs = (replace(BUNDLE.runs[0], memory=MemoryReadings(steps=(1,), in_use_bytes=())),)

    with pytest.raises(BundleError, match=r"^runs\[0\]\.memory: impossible"):
        read_bundle(replace(BUNDLE, runs=runs).to_json().encode())
