"""The profiled steps of checks, over HTTP."""

import pytest

from perfledger.profile import Bucket, Operation, Profile, StepSlice
from perfledger.records import Revision, Side
from tests.cases import case

NAME = "gpt:step"


def a_profile(side, seconds):
    operation = Operation(name="aten::mm", bucket=Bucket.CPU, seconds=seconds, count=1.0)
    call = StepSlice(
        lane="host", name="aten::mm", bucket=Bucket.CPU, start_seconds=0.0, seconds=seconds
    )
    return Profile(
        workload=NAME,
        side=side,
        tool="torch.profiler",
        steps=4,
        step_seconds=seconds,
        operations=(operation,),
        slices=(call,),
    )


@pytest.fixture
def checks(site, make_bundle):
    """Judge two checks with profiles of other commits; return their ids."""
    ids = []
    for seed, digit in enumerate("bc"):
        bundle = make_bundle(
            seed=seed,
            head=Revision(sha=digit * 40, subject="", ref="topic"),
            profiles=(a_profile(Side.BASE, 0.01), a_profile(Side.HEAD, 0.012 + seed / 1000)),
        )
        ids.append(site.upload(bundle).json()["id"])
        site.judge(ids[-1])
    return tuple(ids)


def test_the_steps_of_a_check_have_a_page_and_data(site, checks):
    address = f"/runs/{checks[0]}/steps?workload={NAME}"

    page = site.get(f"{address}&start_us=1000&end_us=3000")
    trace = site.get(f"{address}&format=json").json()
    stacks = site.get(f"{address}&format=speedscope").json()

    assert "1.00\u00a0ms to 3.00\u00a0ms of 12.0\u00a0ms" in page.text
    assert page.headers["Cross-Origin-Opener-Policy"] == "same-origin-allow-popups"
    assert {one["dur"] for one in trace["traceEvents"] if one["ph"] == "X"} == {10_000, 12_000}
    assert len(stacks["profiles"]) == 2


def test_a_checks_page_leads_to_its_steps_and_holds_no_data_of_them(site, checks):
    text = site.get(f"/runs/{checks[0]}").text

    assert f"/runs/{checks[0]}/steps?workload=gpt%3Astep&format=json" in text
    assert "traceEvents" not in text


def test_the_steps_of_two_checks_are_those_of_their_heads(site, checks):
    address = f"/octo/models/compare/steps?a={checks[0]}&b={checks[1]}&workload={NAME}"

    trace = site.get(f"{address}&format=json").json()

    assert {one["dur"] for one in trace["traceEvents"] if one["ph"] == "X"} == {12_000, 13_000}
    assert f"/octo/models/compare?a={checks[0]}" in site.get(address).text
    explained = site.get(f"/octo/models/compare?a={checks[0]}&b={checks[1]}").text
    assert "What differs in" in explained
    assert "</code> is slower" not in explained


def test_steps_that_are_not_there_or_end_before_they_begin_are_errors(site, checks):
    run, pair = f"/runs/{checks[0]}/steps", f"a={checks[0]}&b={checks[1]}"
    for path, status in [
        (f"{run}?workload=nothing", 404),
        (f"{run}?workload=", 422),
        (f"{run}?workload={'a' * 2001}", 422),
        (f"{run}?workload={NAME}&start_us=5&end_us=5", 400),
        (f"{run}?workload={NAME}&start_us=-1", 422),
        (f"{run}?workload={NAME}&end_us={10**20}", 422),
        (f"{run}?workload={NAME}&format=xml", 422),
        (f"/runs/{'0' * 32}/steps?workload={NAME}", 404),
        (f"/octo/models/compare/steps?{pair}&workload=nothing", 404),
        (f"/octo/models/compare/steps?a={checks[0]}&b=ddddddd&workload={NAME}", 404),
        (f"/octo/nothing/compare/steps?{pair}&workload={NAME}", 404),
    ]:
        with case(path=path, status=status):
            assert site.get(path).status_code == status
