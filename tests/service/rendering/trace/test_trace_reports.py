"""What `perfledger trace` shows, as text, Markdown and JSON."""

import json
from dataclasses import replace
from math import inf, nan

import cmarkgfm
import pytest
from cmarkgfm.cmark import Options

from perfledger.profile import Bucket, DeviceStep, ProfileReading
from perfledger.records import Side
from perfledger_profiles.bottleneck.whatif import Speedup, WhatIf
from perfledger_profiles.diff.cause import (
    BucketChange,
    ChangeKind,
    ChangeReason,
    StepTimeExplanation,
)
from perfledger_service.rendering.layout.writers import (
    plain_lines,
    to_json,
    to_markdown,
    to_terminal,
)
from perfledger_service.rendering.trace.diff import trace_diff_document
from perfledger_service.rendering.trace.summary import head_line, trace_document
from perfledger_service.rendering.trace.whatif import what_if_document
from perfledger_service.values.trace_views import TraceDiffView
from tests.service.rendering.terminal_lines import lines_at

HOSTILE = "`</b>|<img src=x>\x1b[31m@octocat\n# head"


@pytest.fixture
def diff_view(make):
    base = make.trace_view("base.json", Side.BASE, softmax_s=0.00102)
    head = make.trace_view("head.json")
    cause = make.cause(
        "aten::_softmax",
        ChangeKind.RATE,
        (0.00102, 0.00274),
        (12.0, 12.0),
        path="train_step/Attention.forward",
        reason=ChangeReason.TYPE,
        evidence="float[64,64] became double[64,64]",
        suggestion="keep the type with dtype= or .to()",
        reverted_step_seconds=0.00752,
    )
    return TraceDiffView(
        base=base,
        head=head,
        explanation=StepTimeExplanation(
            workload="head.json",
            base_step_seconds=base.profile.step_seconds,
            head_step_seconds=head.profile.step_seconds,
            causes=(cause,),
            rest_seconds=0.0,
            is_attributable=True,
            buckets=(
                BucketChange(bucket=Bucket.COMPUTE, base_seconds=0.00493, head_seconds=0.00665),
                BucketChange(bucket=Bucket.COPY, base_seconds=0.00059, head_seconds=0.00059),
            ),
            base_bottleneck=base.classification,
            head_bottleneck=head.classification,
        ),
    )


@pytest.fixture
def what_if():
    return WhatIf(
        step_seconds=0.1,
        new_step_seconds=0.06,
        changes=(
            Speedup(name="input", factor=inf, seconds=0.03, share=0.3),
            Speedup(name="gemm", factor=2.0, seconds=0.02, share=0.2),
        ),
        share=0.5,
        notes=("what is removed here may uncover other work",),
    )


@pytest.mark.parametrize("width", [80, 120])
def test_the_summary_is_as_agreed(make, matches_golden, width):
    text = lines_at(to_terminal(trace_document(make.trace_view())), width=width)

    assert max(map(len, text.splitlines())) <= width
    matches_golden(f"trace_summary_{width}.txt", text)


@pytest.mark.parametrize("width", [80, 120])
def test_the_difference_is_as_agreed(diff_view, matches_golden, width):
    text = lines_at(to_terminal(trace_diff_document(diff_view)), width=width)

    assert max(map(len, text.splitlines())) <= width
    matches_golden(f"trace_diff_{width}.txt", text)


def test_the_markdown_is_as_agreed(make, diff_view, matches_golden):
    matches_golden("trace_summary.md", to_markdown(trace_document(make.trace_view())))
    matches_golden("trace_diff.md", to_markdown(trace_diff_document(diff_view)))


def test_what_is_not_attributable_is_said_plainly(diff_view):
    note = "not attributable from this profile: 60% of the change is spread"
    explanation = replace(diff_view.explanation, is_attributable=False, causes=(), note=note)
    view = replace(diff_view, explanation=explanation)

    assert "No operation accounts for it. Not attributable from this profile" in " ".join(
        plain_lines(to_terminal(trace_diff_document(view))).split()
    )
    assert "No operation accounts for it. Not attributable from this profile" in (
        to_markdown(trace_diff_document(view))
    )


def test_a_summary_without_steps_says_so(make):
    view = make.trace_view()
    whole_profile = replace(view.profile, has_steps=False, tool="ncu", dropped_events=0)

    assert head_line(replace(view, profile=whole_profile)).endswith(" of kernels, added up")
    timeline = replace(whole_profile, kernels=())
    assert head_line(replace(view, profile=timeline)).endswith(" shown as one")


def test_a_recording_of_one_of_several_devices_names_it_and_has_no_mean(make):
    view = make.trace_view()
    device = DeviceStep(
        name="GPU:3", steps=4, step_seconds=0.5, buckets=(0.5,) + (0.0,) * (len(Bucket) - 1)
    )

    text = plain_lines(
        to_terminal(trace_document(replace(view, profile=replace(view.profile, devices=(device,)))))
    )

    assert "All recorded work is on GPU:3." in text
    assert "mean of the devices" not in text


def test_a_file_of_readings_alone_has_only_those(make):
    view = make.trace_view()
    reading = ProfileReading(name="bus_bw", value=2.1e11, unit="B/s")
    bare = replace(
        view.profile,
        tool="nccl-tests",
        has_steps=False,
        step_seconds=0.0,
        operations=(),
        kernels=(),
        streams=(),
        readings=(reading,) * 40,
    )

    text = plain_lines(
        to_terminal(trace_document(replace(view, profile=bare, roof=None, recommendations=())))
    )

    assert text.startswith("trace.json.gz: nccl-tests, no steps, 3 events could not be read")
    assert "Where the step goes" not in text
    assert "and 10 more" in text
    assert to_markdown(trace_document(replace(view, profile=bare))).count("| `bus_bw` |") == 30


def test_json_has_the_profile_its_buckets_and_what_it_is_bound_by(make):
    document = json.loads(to_json(trace_document(make.trace_view())))

    assert (document["format"], document["version"]) == ("perfledger-trace", 1)
    assert sum(document["profile"]["buckets"].values()) == pytest.approx(0.00924)
    assert document["classification"]["shares"][1] == {
        "bottleneck": "host",
        "share": 0.16,
        "ceiling": pytest.approx(1.19, abs=0.01),
        "is_high": False,
        "is_moderate": True,
        "is_estimate": False,
    }
    assert document["profile"]["kernels"][0]["flops"] is None
    assert document["roof"]["dtype"] == "bfloat16"


def test_json_of_a_difference_adds_up(diff_view):
    explanation = json.loads(to_json(trace_diff_document(diff_view)))["explanation"]

    change = explanation["head_step_seconds"] - explanation["base_step_seconds"]
    assert sum(one["delta_seconds"] for one in explanation["buckets"]) == pytest.approx(change)
    assert explanation["causes"][0]["reason"] == "type"


def test_json_has_null_where_there_is_no_number(make):
    view = make.trace_view()
    odd = replace(view.profile, readings=(ProfileReading(name="a", value=nan),))

    document = json.loads(to_json(trace_document(replace(view, profile=odd))))

    assert document["profile"]["readings"][0]["value"] is None


def test_a_what_if_says_what_comes_of_it_and_what_could_at_most(what_if):
    text = plain_lines(to_terminal(what_if_document("trace.json", what_if))).replace("\u00a0", " ")

    assert "trace.json: 100 ms → 60.0 ms a step (-40.0 %)" in text
    assert "30.0 %  input" in text
    assert "gone" in text
    assert "2.0 times as fast" in text
    assert "Without it the step would be 2.0 times as fast (Amdahl's law)." in text
    assert "What is removed here may uncover other work." in text
    assert "| `gemm` |" in to_markdown(what_if_document("trace.json", what_if))


def test_a_what_if_in_json_has_null_for_what_is_infinite(what_if):
    document = json.loads(to_json(what_if_document("trace.json", replace(what_if, share=1.0))))

    assert document["ceiling"] is None
    assert [one["factor"] for one in document["changes"]] == [None, 2.0]


def test_a_what_if_of_all_and_of_nothing_is_said_too(what_if):
    assert "nothing would be left" in plain_lines(
        to_terminal(what_if_document("trace.json", replace(what_if, share=1.0)))
    )
    assert "%)" not in plain_lines(
        to_terminal(what_if_document("trace.json", replace(what_if, step_seconds=0.0)))
    )


def test_what_others_wrote_is_only_text(make, diff_view, what_if, rewrite):
    def hostile(original):
        return original and HOSTILE + original

    texts = [
        plain_lines(to_terminal(trace_document(rewrite(make.trace_view(), hostile)))),
        plain_lines(to_terminal(trace_diff_document(rewrite(diff_view, hostile)))),
        plain_lines(to_terminal(what_if_document(HOSTILE, rewrite(what_if, hostile)))),
    ]
    pages = [
        to_markdown(trace_document(rewrite(make.trace_view(), hostile))),
        to_markdown(trace_diff_document(rewrite(diff_view, hostile))),
        to_markdown(what_if_document(HOSTILE, rewrite(what_if, hostile))),
    ]

    assert not any("\x1b" in text for text in (*texts, *pages))
    for page in pages:
        html = cmarkgfm.github_flavored_markdown_to_html(page, options=Options.CMARK_OPT_UNSAFE)
        assert "<img" not in html
        assert "<h1>" not in html
        assert "</b>" not in html
