"""Each field of a child's messages is read up to its limit, and refused beyond it."""

import json
from typing import Any

import pytest

from perfledger.protocol import PROTOCOL_VERSION
from perfledger_runners.children.protocol_parser import GarbageError, decode_message

RUN: dict[str, Any] = {
    "event": "run",
    "workload": "w",
    "started_at": "2026-11-20T12:00:00Z",
    "samples": {"step_time_p50": [0.5]},
    "device": "cpu",
}
SERVED: dict[str, Any] = {
    "event": "served",
    "workload": "w",
    "mode": "open",
    "concurrency": None,
    "offered_per_second": 5.0,
    "latencies_s": [0.5],
    "services_s": [0.5],
    "seconds": 1.0,
    "answered": 1,
    "unserved": 0,
    "peak_bytes": None,
}
MESSAGES: dict[str, dict[str, Any]] = {
    "facts": {"event": "facts"},
    "workload": {"event": "workload", "id": "m:f", "module": "m", "function": "f"},
    "broken": {"event": "broken", "path": "a.py"},
    "left_out": {"event": "left_out", "name": "b", "reason": "it is async"},
    "note": {"event": "note", "text": "rounds are ignored"},
    "importing": {"event": "importing", "path": "a.py"},
    "started": {"event": "started", "workload": "w"},
    "ready": {"event": "ready", "workload": "w"},
    "run": RUN,
    "ended": {"event": "ended", "workload": "w", "end_cost": {"steps": 1, "cpu_s": 0.5}},
    "profiled": {"event": "profiled", "workload": "w", "tool": "torch", "trace": "/t.json"},
    "counted": {"event": "counted", "workload": "w"},
    "served": SERVED,
    "closed": SERVED | {"mode": "closed", "concurrency": 1, "offered_per_second": None},
    "loaded": {"event": "loaded", "workload": "w", "batch": 1, "device": "cpu", "devices": 1},
    "failed": {"event": "failed", "workload": "w", "reason": "raised"},
}
LARGEST, BEYOND = 3.4e38, 3.41e38


def count(value):
    return [{"name": "flops", "unit": "FLOP", "value": value, "source": "XLA"}]


def package(**changes):
    compiled = {"path": "/c.so", "size_bytes": 1, "digest": ""}
    compiled |= {name: changes.pop(name) for name in ("path", "size_bytes") if name in changes}
    known_fields = {"name": "p", "folder": "/p", "is_own": True, "modules": 1, "digest": ""}
    return [known_fields | {"compiled": [compiled]} | changes]


def names(number):
    return {str(each): "1" for each in range(number)}


@pytest.mark.parametrize(
    ("message", "field", "accepted", "refused"),
    [
        ("facts", "device", [{"count": 0, "memory_bytes": 0, "device_count": 0}], [{"count": -1}]),
        ("facts", "device", [{"memory_bytes": 1}], [{"memory_bytes": -1}, {"device_count": -1}]),
        ("facts", "distributions", [names(1000)], [names(1001)]),
        ("workload", "id", ["i", "i" * 300], ["", "i" * 301]),
        ("workload", "unit", ["", "u" * 300], ["u" * 301]),
        ("workload", "units_per_step", [0.5, 1.0], [0.0, -1.0]),
        ("workload", "timeout", [0.5, 86_400.0], [0.0, 86_401.0]),
        ("workload", "tags", [["t" * 40], ["t"] * 20], [["t" * 41], ["t"] * 21, [""]]),
        ("workload", "margin", [0.001, 0.999], [0.0, 1.0]),
        ("broken", "path", ["p" * 4096], ["p" * 4097]),
        ("broken", "detail", ["d" * 100_000], ["d" * 100_001]),
        ("left_out", "name", ["n" * 300], ["", "n" * 301]),
        ("left_out", "reason", ["", "r" * 300], ["r" * 301]),
        ("note", "text", ["", "t" * 100_000], ["t" * 100_001]),
        ("started", "log_bytes", [0, 1], [-1]),
        ("ready", "workload", ["", "w" * 300], ["w" * 301]),
        ("run", "warmups_s", [[0.0], [0.5]], [[-0.5]]),
        (
            "run",
            "spans_s",
            [[], [[0.0, 0.5]] * 20],
            [[[-0.5, 0.5]], [[0.0, -0.5]], [[0.0, 0.5]] * 21],
        ),
        ("run", "left_out", [{"odd": 0}], [{"odd": -1}]),
        ("run", "devices", [1, 100_000], [0, 100_001]),
        ("run", "turns", [[1]], [[0]]),
        ("run", "packages", [package(modules=1)], [package(modules=0)]),
        ("run", "packages", [package(modules=2**63 - 1)], [package(modules=2**63)]),
        ("run", "packages", [package(size_bytes=0)], [package(size_bytes=-1)]),
        ("run", "packages", [package(size_bytes=2**63 - 1)], [package(size_bytes=2**63)]),
        ("run", "packages", [package(folder="f" * 4000)], [package(folder="f" * 4001)]),
        ("run", "packages", [package(digest="0" * 64)], [package(digest="0" * 65)]),
        ("run", "evidence", [{"tolerance": 0.0}, {"tolerance": 0.999}], [{"tolerance": 1.0}]),
        ("run", "evidence", [{"steps_per_reading": 1}], [{"steps_per_reading": 0}]),
        ("run", "evidence", [{"answer": {"a" * 300: "b" * 300}}], [{"answer": {"a" * 301: 1}}]),
        ("run", "evidence", [{"answer": {"": -LARGEST}}], [{"answer": {"": -BEYOND}}]),
        ("run", "evidence", [{"answer": {"": LARGEST}}], [{"answer": {"": BEYOND}}]),
        ("run", "evidence", [{"empty_step_s": 0.0}], [{"empty_step_s": -0.5}]),
        ("run", "evidence", [{"empty_step_s": LARGEST}], [{"empty_step_s": BEYOND}]),
        ("run", "evidence", [{"paused_cores": 0.0}], [{"paused_cores": -0.5}]),
        ("run", "evidence", [{"leftover_s": 0.0}], [{"leftover_s": -0.5}]),
        ("run", "evidence", [{"paused_cores": LARGEST}], [{"paused_cores": BEYOND}]),
        ("ended", "end_cost", [{"steps": 1, "cpu_s": 0.0}], [{"steps": 0, "cpu_s": 0.0}]),
        ("ended", "end_cost", [{"steps": 2, "cpu_s": LARGEST}], [{"steps": 2, "cpu_s": BEYOND}]),
        ("ended", "end_cost", [{"steps": 2, "cpu_s": 0, "tasks": 0}], [{"steps": 2, "tasks": 0}]),
        ("profiled", "trace", ["t" * 4096], ["t" * 4097]),
        ("profiled", "repeats", [["t"] * 100], [["t"] * 101]),
        ("profiled", "steps", [0], [-1]),
        ("profiled", "step_seconds", [0.0], [-0.5]),
        ("counted", "counts", [count(0.0), count(LARGEST)], [count(-0.5), count(BEYOND)]),
        ("counted", "counts", [count(1.0) * 100], [count(1.0) * 101]),
        ("counted", "limits", [["l"] * 20], [["l"] * 21]),
        ("closed", "concurrency", [1], [0]),
        ("served", "offered_per_second", [0.5, LARGEST], [0.0, BEYOND]),
        ("served", "latencies_s", [[0.5], [LARGEST]], [[0.0], [BEYOND]]),
        ("served", "services_s", [[1e-9]], [[0.0]]),
        ("served", "seconds", [2e-9, LARGEST], [1e-9, BEYOND]),
        ("served", "answered", [0, 40_000], [-1, 40_001]),
        ("served", "unserved", [0, 40_000], [-1, 40_001]),
        ("served", "peak_bytes", [0.0, LARGEST], [-0.5, BEYOND]),
        ("loaded", "batch", [1, 2**31], [0, 2**31 + 1]),
        ("loaded", "devices", [1, 100_000], [0, 100_001]),
        ("failed", "workload", ["", "w" * 300], ["w" * 301]),
    ],
)
def test_a_field_is_read_up_to_its_limits(message, field, accepted, refused):
    for value in accepted:
        decode_message(line(message, field, value))
    for value in refused:
        with pytest.raises(GarbageError):
            decode_message(line(message, field, value))


def line(message, field, value):
    fields = MESSAGES[message] | {"version": PROTOCOL_VERSION, field: value}
    return json.dumps(fields).encode()


def test_an_answer_may_be_shorter_than_its_service_by_what_clocks_round():
    rounded = {"latencies_s": [0.5 - 1.9e-9], "services_s": [0.5]}
    shorter = {"latencies_s": [0.5 - 1e-8], "services_s": [0.5]}
    version = {"version": PROTOCOL_VERSION}

    decode_message(json.dumps(SERVED | rounded | version).encode())
    with pytest.raises(GarbageError, match="impossible"):
        decode_message(json.dumps(SERVED | shorter | version).encode())


def test_what_a_message_leaves_out_is_nothing():
    def read(message):
        fields = MESSAGES[message] | {"version": PROTOCOL_VERSION}
        return decode_message(json.dumps(fields).encode())

    facts, run, started, profiled_any_message = map(read, ("facts", "run", "started", "profiled"))

    assert (facts.device.count, facts.device.device_count, facts.device.memory_bytes) == (
        0,
        0,
        None,
    )
    assert (run.spans_s, run.devices, run.warmups_s, run.turns) == ((), 1, (), ())
    assert (run.evidence.tolerance, run.evidence.steps_per_reading) == (0.0, 1)
    assert started.log_bytes == 0
    assert (
        profiled_any_message.steps,
        profiled_any_message.step_seconds,
        profiled_any_message.repeats,
    ) == (0, 0.0, ())
    assert read("workload").units_per_step == 1.0
