import json
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

import perfledger_runners
from perfledger.package_code import MAX_PACKAGES, CompiledModule, LoadedPackage
from perfledger.protocol import PROTOCOL_VERSION, MessageType
from perfledger.records import Device, FailureReason
from perfledger_runners.children.protocol_parser import (
    DECODER,
    AnyMessage,
    FailedMessage,
    GarbageError,
    RankMessage,
    RunMessage,
    decode_message,
)
from perfledger_runners.safe_text import clean_text
from tests.field_bounds import assert_bounds_are_known

STARTED_AT = "2026-11-20T12:00:00+00:00"


def line(event, **fields):
    return json.dumps({"version": PROTOCOL_VERSION, "event": event, **fields}).encode()


def run_line(**fields):
    default_fields = {
        "workload": "w",
        "started_at": STARTED_AT,
        "samples": {"step_time_p50": [0.5]},
        "device": "cpu",
    }
    return line("run", **(default_fields | fields))


def packages(*, compiled=None, **fields):
    default_fields = {
        "name": "mypkg",
        "folder": "/venv/site-packages/mypkg",
        "is_own": False,
        "modules": 2,
        "digest": "a" * 64,
        "compiled": [{"path": "/venv/_C.so", "size_bytes": 9, "digest": ""} | (compiled or {})],
    }
    return {"packages": [default_fields | fields]}


def test_a_runs_packages_are_read_as_the_child_recorded_them():
    message = decode_message(run_line(**packages(folder="/venv/\N{RIGHT-TO-LEFT OVERRIDE}mypkg")))

    assert isinstance(message, RunMessage)
    assert [each.package() for each in message.packages] == [
        LoadedPackage(
            name="mypkg",
            folder=clean_text("/venv/\N{RIGHT-TO-LEFT OVERRIDE}mypkg"),
            is_own=False,
            modules=2,
            digest="a" * 64,
            compiled=(CompiledModule(path="/venv/_C.so", size_bytes=9, digest=""),),
        )
    ]


def test_a_run_is_read_as_the_child_wrote_it():
    message = decode_message(
        run_line(warmups_s=[1.0], spans_s=[[0.5, 1.5]], left_out={"odd": 1}, devices=2)
    )

    assert message == RunMessage(
        version=PROTOCOL_VERSION,
        workload="w",
        started_at=STARTED_AT,
        samples={"step_time_p50": (0.5,)},
        warmups_s=(1.0,),
        spans_s=((0.5, 1.5),),
        left_out={"odd": 1},
        device=Device.CPU,
        devices=2,
    )


@pytest.mark.parametrize("variant", ["", "compile", "jit:donate+xla_a=1", "triton-server"])
def test_a_workload_has_the_name_of_its_variant(variant):
    line = {"version": PROTOCOL_VERSION, "event": "workload", "id": "m:f", "module": "m"}

    message = decode_message(json.dumps({**line, "function": "f", "variant": variant}).encode())

    assert getattr(message, "variant", None) == variant


@pytest.mark.parametrize("variant", ["a|b", "<b>", "compile\n", "x:" + "y" * 300, 3, None])
def test_what_is_no_variants_name_is_garbage(variant):
    line = {"version": PROTOCOL_VERSION, "event": "workload", "id": "m:f", "module": "m"}

    with pytest.raises(GarbageError):
        decode_message(json.dumps({**line, "function": "f", "variant": variant}).encode())


def test_every_event_of_the_protocol_has_a_message():
    messages = (RankMessage, *AnyMessage.__args__)  # the first one is a launched process's
    known_tags = {message.__struct_config__.tag for message in messages}

    assert known_tags == set(MessageType)


@pytest.mark.parametrize(
    "garbage",
    [
        b"",
        b"hello",
        b"{}",
        b"[]",
        b"null",
        b'{"version": 2, "event": "nonsense"}',
        b'{"version": 1, "event": "done"}',
        b'{"event": "done"}',
        b'hello{"version": 2, "event": "done"}',
        b"\xff\xfe",
        b"[" * 5000,
        run_line(samples={}),
        run_line(samples={"step_time_p50": []}),
        run_line(samples={"step_time_p50": [0.0]}),
        run_line(samples={"step_time_p50": [-1.0]}),
        run_line(samples={"step_time_p50": ["1"]}),
        run_line(samples={"unheard_of": [1.0]}),
        run_line().replace(b"0.5", b"NaN"),
        run_line().replace(b"0.5", b"1e400"),
        run_line(started_at="yesterday"),
        run_line(started_at="2026-11-20T12:00:00"),
        run_line(started_at="2026-11-20T12:00:00+02:00"),
        run_line(warmups_s=[-1.0]),
        run_line(spans_s=[[-1.0, 1.0]]),
        run_line(left_out={"odd": -1}),
        run_line(device="imported"),
        run_line(devices=1, device_places=[0, 3]),
        run_line(workload=""),
        run_line(workload="w" * 301),
        run_line(workload="w\x00"),
        run_line(workload="w\n"),
        line("facts", distributions={"torch": "2" * 301}),
        line("facts", distributions={"torch\n": "2"}),
        line("facts", distributions={str(n): "1" for n in range(1001)}),
        run_line(packages=[{}]),
        run_line(packages=packages()["packages"] * (MAX_PACKAGES + 1)),
        run_line(**packages(name="")),
        run_line(**packages(name="a\nb")),
        run_line(**packages(folder="/" + "f" * 4000)),
        run_line(**packages(folder="\x1b[31m")),
        run_line(**packages(is_own=1)),
        run_line(**packages(modules=0)),
        run_line(**packages(modules=2**64)),
        run_line(**packages(digest="a" * 63)),
        run_line(**packages(digest="A" * 64)),
        run_line(**packages(compiled={"size_bytes": -1})),
        run_line(**packages(compiled={"digest": "a" * 64 + "\n"})),
        run_line(**packages(compiled={"path": 5})),
        line("windows", workload="w", windows={"tool": "torch.profiler", "traces": ["a\0b"]}),
        line("profiled", workload="w", tool="torch.profiler", trace="a\nb"),
    ],
)
def test_what_the_harness_would_not_have_said_is_garbage(garbage):
    with pytest.raises(GarbageError):
        decode_message(garbage)


@given(st.binary(max_size=200))
def test_any_bytes_are_a_message_or_garbage(noise):
    try:
        message = decode_message(noise)
    except GarbageError:
        return
    assert DECODER.decode(noise) == message


def test_what_garbage_looked_like_can_be_shown():
    with pytest.raises(GarbageError, match="'\ufffd\\[31mred'"):
        decode_message(b"\x1b[31mred")


def test_an_idle_share_may_be_zero():
    message = decode_message(run_line(samples={"step_time_p50": [1.0], "cpu_active": [0.0]}))

    assert isinstance(message, RunMessage)
    assert message.samples["cpu_active"] == (0.0,)


@pytest.mark.parametrize(("queued", "is_possible"), [(0.5, True), (1.5, False)])
def test_core_times_come_with_a_run_unless_they_are_impossible(queued, is_possible):
    times = {"elapsed_s": [1.0], "queued_s": [queued], "helpers_s": [0.0]}
    sent = run_line(samples={"step_time_p50": [1.0], "cpu_time": [0.5]}, core_times=times)

    if is_possible:
        assert decode_message(sent).core_times.queued_s == (0.5,)
    else:
        with pytest.raises(GarbageError, match="core times"):
            decode_message(sent)


def test_a_detail_is_cleaned_and_cut():
    message = decode_message(
        line("failed", workload="w", reason="raised", detail="\x1b" + "x" * 5000)
    )

    assert message == FailedMessage(
        version=PROTOCOL_VERSION,
        workload="w",
        reason=FailureReason.RAISED,
        detail="\ufffd" + "x" * 3999,
    )


def test_fields_and_parameters_have_known_bounds_and_defaults():
    assert_bounds_are_known(perfledger_runners, Path(__file__).with_name("field_bounds.txt"))


def test_foreign_output_is_shown_by_its_first_eighty_letters():
    with pytest.raises(GarbageError, match=f"descriptor: '{'x' * 80}' "):
        decode_message(b"x" * 200)
