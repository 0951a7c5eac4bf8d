from dataclasses import replace
from xml.etree import ElementTree

import pytest

from perfledger.records import Side
from perfledger_profiles.flame_graph.frame_tree import Frame
from perfledger_service.rendering.chart.marks import Tone
from perfledger_service.rendering.layout import number_format
from perfledger_service.rendering.trace.flame_graph import flame_graph as flame_graph_module
from perfledger_service.rendering.trace.flame_graph.flame_graph import flame_graph, frame_rows


def frame(name, base_s, head_s, *frames):
    return Frame(name=name, base_seconds=base_s, head_seconds=head_s, frames=frames)


def test_two_steps_become_a_picture_and_rows_that_say_the_same(make):
    graph = flame_graph(make.profile(Side.BASE, softmax_s=0.001), make.profile(Side.HEAD))

    assert ElementTree.fromstring(graph.svg).tag.endswith("svg")
    assert "Differential flame graph" in graph.svg
    assert graph.rows[0].depth == 0
    slower = [row for row in graph.rows if row.tone is Tone.ORANGE]
    assert any("softmax" in row.name for row in slower)


def test_rows_are_the_frames_that_changed_most_with_those_around_them(monkeypatch):
    monkeypatch.setattr(flame_graph_module, "MAX_ROWS", 1)
    tree = frame(
        "step",
        1.0,
        1.5,
        frame("outer", 0.5, 1.0, frame("inner", 0.1, 0.6), frame("still", 0.4, 0.4)),
        frame("other", 0.5, 0.5),
    )

    rows, hidden = frame_rows(tree)

    assert [(row.depth, row.name) for row in rows][:2] == [(0, "step"), (1, "outer")]
    assert len(rows) + hidden == 5


def test_the_time_of_operations_that_head_lacks_is_said(make):
    base, head = make.profile(Side.BASE), make.profile(Side.HEAD)
    first, *others = head.operations
    without = replace(head, operations=tuple(others))

    assert flame_graph(base, head).gone == ""
    assert flame_graph(base, without).gone == number_format.seconds(first.seconds)


@pytest.mark.parametrize(
    ("base_s", "head_s", "tone"),
    [(1.0, 1.0, Tone.MUTED), (1.0, 2.0, Tone.ORANGE), (2.0, 1.0, Tone.BLUE)],
)
def test_a_row_has_the_colour_of_its_change(base_s, head_s, tone):
    (row, *_), _ = frame_rows(frame("step", base_s, head_s))

    assert row.tone is tone
