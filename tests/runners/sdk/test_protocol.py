import json
from dataclasses import asdict, replace

import pytest
from hypothesis import given, settings, strategies as st

from perfledger.load import Load
from perfledger.protocol import ChildRequest, Command, MeasuringEffort, RequestError, read_request
from tests.suite.tries import tries

names = st.text(min_size=1, max_size=8)
params = st.one_of(st.integers(), st.floats(allow_nan=False), st.booleans(), st.text(max_size=8))


@pytest.mark.slow(ci_only=True)
@settings(deadline=None, max_examples=tries(60))
@given(
    workloads=st.lists(names).map(tuple),
    grid=st.dictionaries(names, st.dictionaries(names, st.lists(params, min_size=1).map(tuple))),
    effort=st.builds(MeasuringEffort, min_steps=st.integers(1, 9), max_seconds=st.floats(0, 9)),
    turns=st.dictionaries(names, st.integers(1, 99)),
    command=st.sampled_from(Command),
    load=st.builds(Load, concurrency=st.lists(st.integers(1, 9)).map(tuple), seed=st.integers()),
)
def test_a_request_is_read_as_it_was_written(  # noqa: PLR0917 - what Hypothesis draws
    tmp_path_factory, workloads, grid, effort, turns, command, load
):
    request = ChildRequest(
        command=command,
        root="/r",
        repository="/u",
        workloads=workloads,
        params=grid,
        effort=effort,
        turns=turns,
        load=load,
    )
    path = tmp_path_factory.getbasetemp() / "request.json"
    request.write(path)

    assert read_request(path) == request


def test_a_workload_takes_no_more_turns_than_asked():
    effort = MeasuringEffort(max_seconds=0.75)
    request = ChildRequest(
        command=Command.MEASURE,
        root="/r",
        repository="/u",
        effort=effort,
        turns={"short": 20},
    )

    assert request.effort_of("short") == replace(effort, max_turns=20)
    assert request.effort_of("usual") == effort


def test_a_request_of_another_version_is_refused(tmp_path):
    path = tmp_path / "request.json"
    request = ChildRequest(command=Command.LIST, root="/r", repository="/u")
    path.write_text(json.dumps({**asdict(request), "version": 99}), encoding="utf-8")

    with pytest.raises(RequestError, match="version 99 and this child reads 2"):
        read_request(path)
