"""Small xplanes written byte by byte here: nothing was recorded."""

import struct

import pytest
from hypothesis import given, strategies as st

from perfledger_profiles.xla import xplane_wire as module
from perfledger_profiles.xla.xplane_wire import event_stats
from tests.runners.profiles.xla.wire_bytes import length_delimited, number, varint

WANTED = frozenset({"flops", "bytes_accessed", "hlo_category", "ratio"})


def double(field, value):
    return varint(field << 3 | 1) + struct.pack("<d", value)


STATS = {1: "flops", 2: "hlo_category", 3: "ratio", 4: "loop fusion", 5: "secret"}


def plane(name, *events):
    """Write a plane with names of events, each with its stats already written."""
    entries = [
        length_delimited(
            4,
            number(1, key)
            + length_delimited(2, number(1, key) + length_delimited(2, event) + stats),
        )
        for key, (event, stats) in enumerate(events)
    ]
    named = [
        length_delimited(
            5, number(1, key) + length_delimited(2, number(1, key) + length_delimited(2, text))
        )
        for key, text in STATS.items()
    ]
    line = length_delimited(3, length_delimited(2, "XLA Ops") + length_delimited(4, number(1, 0)))
    return length_delimited(
        1, number(1, 7) + length_delimited(2, name) + line + b"".join([*entries, *named])
    )


def stat(key, value):
    return length_delimited(5, number(1, key) + value)


def read(data, *, planes=("/device:TPU:0",)):
    return event_stats(data, planes=planes, stat_names=WANTED)


def test_every_kind_of_value_is_read():
    stats = (
        stat(1, number(4, 1342177280))
        + stat(2, number(7, 4))
        + stat(3, double(2, 0.125))
        + stat(5, length_delimited(5, "host.lab"))
    )

    facts = read(plane("/device:TPU:0", ("%add", stats), ("bare", b"")))

    assert facts == (
        {"%add": {"flops": 1342177280, "hlo_category": "loop fusion", "ratio": 0.125}},
    )


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (number(3, 2**63), 2**63),
        (number(4, -1), -1),
        (length_delimited(5, "text"), "text"),
        (length_delimited(5, b"\xff"), "\ufffd"),
        (number(7, 99), ""),
    ],
)
def test_numbers_texts_and_references(value, expected):
    (facts,) = read(plane("/device:TPU:0", ("%add", stat(1, value))))

    assert facts == {"%add": {"flops": expected}}


def test_bytes_and_stats_without_a_name_are_left_out():
    stats = stat(1, length_delimited(6, b"proto")) + stat(77, number(3, 1))

    assert read(plane("/device:TPU:0", ("%add", stats))) == ({},)


def test_planes_keep_their_order_and_only_those_asked_for_are_looked_into():
    host = plane("/host:CPU", ("dot", stat(1, number(3, 5))))
    device = plane("/device:TPU:0", ("dot", stat(1, number(3, 6))))

    assert read(host + device) == ({}, {"dot": {"flops": 6}})


def test_what_two_events_of_one_name_do_not_share_is_no_fact():
    one = stat(1, number(3, 5)) + stat(2, length_delimited(5, "fusion"))
    other = stat(1, number(3, 6)) + stat(2, length_delimited(5, "fusion"))

    (facts,) = read(plane("/device:TPU:0", ("dot", one), ("dot", other)))

    assert facts == {"dot": {"hlo_category": "fusion"}}


def test_a_plane_with_too_many_names_has_no_facts(monkeypatch):
    monkeypatch.setattr(module, "MAX_NAMES", 1)
    events = [(f"op{n}", stat(1, number(3, n))) for n in range(2)]

    assert read(plane("/device:TPU:0", *events)) == ({},)


@pytest.mark.parametrize("count", [5, 6])
def test_a_plane_may_have_as_many_names_as_the_limit_says(monkeypatch, count):
    monkeypatch.setattr(module, "MAX_NAMES", len(STATS))  # five of stats, and so many of events
    events = [(f"op{n}", stat(1, number(3, n))) for n in range(count)]

    (facts,) = read(plane("/device:TPU:0", *events))

    assert len(facts) == (5 if count == 5 else 0)


WHOLE = plane("/device:TPU:0", ("%add", stat(1, number(4, -7)) + stat(3, double(2, 1.5)))) * 2


@pytest.mark.parametrize(
    "data",
    [
        b"\x0b\x0c",  # groups, which no xplane has
        b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
        b"\x0a\x05\x12",
        number(1, 3),
        length_delimited(1, number(2, 3)),
        plane("/device:TPU:0", ("op", length_delimited(5, length_delimited(1, "flops")))),
    ],
)
def test_what_is_no_xplane_has_no_facts(data):
    assert read(data) == ()


def test_what_came_before_the_damage_is_kept():
    assert read(WHOLE[:-1]) == read(WHOLE)[:1]


@given(st.binary(max_size=200))
def test_no_bytes_raise(data):
    assert isinstance(read(data, planes=("", "/device:TPU:0")), tuple)


@given(st.integers(0, len(WHOLE) - 1), st.integers(0, 255))
def test_no_changed_byte_raises(place, value):
    data = WHOLE[:place] + bytes([value]) + WHOLE[place + 1 :]

    assert isinstance(read(data), tuple)
