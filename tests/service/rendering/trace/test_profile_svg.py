"""Pictures that stand alone, as documents of XML."""

from dataclasses import replace
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings, strategies as st

from perfledger.profile import Bucket, MemoryPoint, OperationFamily
from perfledger.records import Side
from perfledger_profiles.bottleneck.classification import Bottleneck
from perfledger_profiles.diff.cause import BucketChange, ChangeReason, StepTimeExplanation
from perfledger_service.rendering.layout import vocabulary
from perfledger_service.rendering.trace.bucket_tones import BUCKET_TONES
from perfledger_service.rendering.trace.profile_svg import trace_diff_svg, trace_svg
from perfledger_service.values.trace_views import TraceDiffView

SVG = "{http://www.w3.org/2000/svg}"
SHAPES = {"rect", "text", "g", "line", "circle", "polyline", "polygon"}
TAGS = {"svg", "title", "desc", "style"} | SHAPES
NASTY = ("</title>", "<script>alert(1)</script>", "]]>", "&", '"', "\x00", "\ud800", "\u202e", "é")
nasty = st.lists(st.one_of(st.sampled_from(NASTY), st.text(max_size=5)), max_size=5).map("".join)


@pytest.fixture
def diff_view(make):
    base, head = make.trace_view("base.json", Side.BASE, softmax_s=0.001), make.trace_view()
    changes = (
        BucketChange(bucket=Bucket.COMPUTE, base_seconds=0.0049, head_seconds=0.00665),
        BucketChange(bucket=Bucket.COPY, base_seconds=0.0006, head_seconds=0.0006),
    )
    return TraceDiffView(
        base=base,
        head=head,
        explanation=StepTimeExplanation(
            workload="trace.json.gz",
            base_step_seconds=base.profile.step_seconds,
            head_step_seconds=head.profile.step_seconds,
            causes=(),
            rest_seconds=0.0,
            is_attributable=True,
            buckets=changes,
        ),
    )


def parsed(text):
    document = ElementTree.fromstring(text)
    assert {shape.tag.removeprefix(SVG) for shape in document.iter()} <= TAGS
    return document


def headings(text):
    return [
        shape.text for shape in parsed(text).iter() if "heading" in shape.get("class", "").split()
    ]


def test_a_trace_is_drawn_with_all_that_is_known_of_it(make):
    assert headings(trace_svg(make.trace_view())) == [
        "trace.json.gz",
        "Where the step goes",
        "The step nearest to the median",
        "Roofline of 2 kernels under the roof of bfloat16",
        "Longest kernels",
        "Operations with the most time",
    ]


def test_what_a_file_does_not_have_is_not_drawn(make):
    view = make.trace_view()
    bare = replace(view.profile, kernels=(), slices=())

    assert headings(trace_svg(replace(view, profile=bare, roof=None)))[1:] == [
        "Where the step goes",
        "Operations with the most time",
    ]


def test_memory_is_drawn_below_the_step_and_is_well_formed(make):
    view = make.trace_view()
    points = tuple(
        MemoryPoint(seconds=at, allocated_bytes=used, reserved_bytes=9e9, device="cuda:<0>")
        for at, used in ((0.0, 1e9), (0.5, 5e9))
    )
    drawn_trace_svg = trace_svg(replace(view, profile=replace(view.profile, memory=points)))

    assert headings(drawn_trace_svg)[2:4] == ["The step nearest to the median", "Memory in use"]
    assert "cuda:&lt;0&gt;: peak 4.66 GiB, at 500 ms" in drawn_trace_svg.replace("\u00a0", " ")


def test_how_memory_is_recorded_is_said_in_the_picture(make):
    text = "Memory in use: not recorded; profile(profile_memory=True) of torch.profiler records it."

    assert text in " ".join(parsed(trace_svg(make.trace_view())).itertext())


def test_two_traces_are_drawn_with_the_waterfall_between_them(diff_view):
    texts = headings(trace_diff_svg(diff_view))

    assert texts[0] == "base.json → trace.json.gz"
    assert texts[1].startswith("From base to head: profiled step from 7.50")
    assert texts[2:] == [
        "Base, a typical step",
        "Head, a typical step",
        "What runs longest on base",
        "What runs longest on head",
    ]


def test_every_bucket_has_a_colour_of_its_own():
    assert len({BUCKET_TONES[bucket] for bucket in Bucket}) == len(Bucket)


@pytest.mark.slow(ci_only=True)
def test_names_of_others_are_only_text(make, diff_view, rewrite):
    shapes = {shape.tag for shape in parsed(trace_svg(make.trace_view())).iter()}

    @settings(max_examples=40)
    @given(nasty)
    def holds(text):
        view = rewrite(make.trace_view(), lambda original: original and original + text)
        drawn_trace_svg = trace_svg(view)

        assert {shape.tag for shape in parsed(drawn_trace_svg).iter()} == shapes
        parsed(trace_diff_svg(rewrite(diff_view, lambda original: original + text)))
        drawn_trace_svg.encode("utf-8")

    holds()


@pytest.mark.parametrize("bucket", list(Bucket))
def test_every_bucket_has_a_word_that_fits_its_column(bucket):
    assert 0 < len(vocabulary.bucket(bucket)) <= 14


@pytest.mark.parametrize("bottleneck", list(Bottleneck))
def test_every_bottleneck_has_a_word(bottleneck):
    assert vocabulary.bottleneck(bottleneck)


@pytest.mark.parametrize("reason", list(ChangeReason))
def test_every_reason_but_none_has_words(make, reason):
    cause = make.cause("a", "rate", (1.0, 2.0), (1.0, 1.0), reason=reason)

    assert bool(vocabulary.change_reason_phrase(cause)) is (reason is not ChangeReason.UNKNOWN)


@pytest.mark.parametrize("family", list(OperationFamily))
def test_every_family_of_kernels_has_a_colour(make, family):
    view = make.trace_view()
    kernels = tuple(replace(kernel, family=family) for kernel in view.profile.kernels)

    root = parsed(trace_svg(replace(view, profile=replace(view.profile, kernels=kernels))))

    assert len(root) > 0


def test_a_trace_and_a_difference_are_drawn_as_agreed(make, diff_view, matches_golden):
    matches_golden("trace.svg", trace_svg(make.trace_view()))
    matches_golden("trace_difference.svg", trace_diff_svg(diff_view))
