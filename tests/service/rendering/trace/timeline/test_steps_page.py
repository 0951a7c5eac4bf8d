import json
from dataclasses import replace

import pytest

from perfledger.records import Side
from perfledger_service.errors import NotFoundError
from perfledger_service.rendering.trace.timeline.steps_page import (
    StepsAddress,
    StepsFormat,
    steps_data,
    steps_page,
)

ADDRESS = StepsAddress(
    repository="acme/models", steps="/runs/1/steps?", explained="/runs/1", section="checks"
)


@pytest.fixture
def sides(make):
    return {Side.BASE: make.profile(Side.BASE, softmax_s=0.001), Side.HEAD: make.profile()}


def test_a_viewer_gets_both_steps_without_invisible_characters(sides):
    data = steps_data(sides, workload="m:f\u202e", output=StepsFormat.JSON)

    assert {event["pid"] for event in json.loads(data)["traceEvents"]} == {1, 2}
    assert "\u202e" not in data


def test_speedscope_gets_the_stacks_of_both_sides_and_says_where_one_lacks(sides):
    document = json.loads(steps_data(sides, workload="m:f", output=StepsFormat.SPEEDSCOPE))

    assert [one["name"].partition(":")[0] for one in document["profiles"]] == ["base", "head"]
    with pytest.raises(NotFoundError, match="only head has a profile of 'm:f'"):
        steps_data({Side.HEAD: sides[Side.HEAD]}, workload="m:f", output=StepsFormat.SPEEDSCOPE)


def test_the_page_of_steps_has_its_data_and_leads_back(sides):
    page = steps_page(sides, workload="m:f[a=1&b]", address=ADDRESS)

    assert 'href="/runs/1/steps?workload=m%3Af%5Ba%3D1%26b%5D&format=json"' in page
    assert "&format=speedscope" in page
    assert 'href="/runs/1"' in page
    assert "Flame graph of both sides" in page


def test_one_side_alone_has_no_flame_graph_and_no_stacks(sides):
    page = steps_page({Side.HEAD: sides[Side.HEAD]}, workload="m:f", address=ADDRESS)

    assert "Flame graph" not in page
    assert "speedscope" not in page
    assert "Open the step in Perfetto" in page
    assert 'data-title="head of m:f"' in page


def test_profiles_without_calls_are_not_found(sides):
    bare = {side: replace(one, slices=()) for side, one in sides.items()}

    with pytest.raises(NotFoundError, match="have no calls"):
        steps_page(bare, workload="m:f", address=ADDRESS)
