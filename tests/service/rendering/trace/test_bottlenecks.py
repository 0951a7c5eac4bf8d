from dataclasses import replace
from functools import partial

import pytest

from perfledger_profiles.bottleneck.classification import (
    Bottleneck,
    BottleneckConfidence,
    BottleneckDetail,
    BottleneckShare,
)
from perfledger_service.rendering.trace.bottlenecks import (
    advice_rows,
    bottleneck_change_sentence,
    bottleneck_heading,
    bottleneck_phrase,
    share_pairs,
    share_rows,
)


def plain_text(text):
    return text.replace("\u00a0", " ")


def test_a_label_stands_with_its_share_and_its_confidence(make):
    classification = make.classification(Bottleneck.LATENCY, 0.5)

    assert (
        plain_text(bottleneck_phrase(classification))
        == "bound by latency, occupancy (50.0 % of the step, high confidence)"
    )


def test_a_label_of_low_confidence_is_no_headline(make):
    classification = replace(make.classification(), confidence=BottleneckConfidence.LOW)

    assert plain_text(bottleneck_phrase(classification)) == (
        "no clear bottleneck, most likely compute (72.0 % of the step)"
    )
    assert bottleneck_heading(classification).startswith("No clear bottleneck")
    assert share_rows(classification)[0].mark == "most likely this"


def test_one_step_that_is_nearly_all_of_one_kind_is_not_called_unclear(make):
    classification = replace(
        make.classification(Bottleneck.LATENCY, 0.8), confidence=BottleneckConfidence.LOW
    )

    assert plain_text(bottleneck_phrase(classification)) == (
        "most likely bound by latency, occupancy (80.0 % of the step, low confidence)"
    )


def test_an_unsure_overhead_that_the_device_outweighs_is_named_beside_it(make):
    of = partial(BottleneckShare, is_high=False, is_moderate=False)
    shares = (
        of(bottleneck=Bottleneck.COMPUTE, share=0.5),
        replace(of(bottleneck=Bottleneck.HOST, share=0.4), is_high=True),
        of(bottleneck=Bottleneck.MEMORY, share=0.1),
    )
    classification = replace(
        make.classification(Bottleneck.HOST),
        shares=shares,
        detail=BottleneckDetail.LAUNCH,
        confidence=BottleneckConfidence.LOW,
    )

    assert plain_text(bottleneck_phrase(classification)) == (
        "no clear bottleneck: work on the device (60.0 % of the step), and the host, launch "
        "(40.0 % of the step)"
    )
    assert [row.mark for row in share_rows(classification)] == ["", "high", ""]
    sure = replace(classification, confidence=BottleneckConfidence.HIGH)
    assert plain_text(bottleneck_phrase(sure)) == (
        "bound by the host, launch (40.0 % of the step, high confidence)"
    )


def test_shares_of_added_kernels_are_of_their_time(make):
    share = BottleneckShare(
        bottleneck=Bottleneck.LATENCY,
        share=1.0,
        is_high=False,
        is_moderate=False,
        is_of_step=False,
    )
    classification = replace(make.classification(Bottleneck.LATENCY), shares=(share,))

    assert plain_text(bottleneck_phrase(classification)).endswith(
        "(100 % of the kernels' time, high confidence)"
    )


def test_the_parts_of_the_devices_work_are_all_its_bottleneck(make):
    of = partial(BottleneckShare, is_high=False, is_moderate=False)
    shares = (
        of(bottleneck=Bottleneck.MEMORY, share=0.5, is_estimate=True),
        of(bottleneck=Bottleneck.DEVICE, share=0.25),
        of(bottleneck=Bottleneck.HOST, share=0.25),
    )
    classification = replace(make.classification(Bottleneck.DEVICE), shares=shares)

    rows = share_rows(classification)

    assert plain_text(bottleneck_phrase(classification)) == (
        "bound by work on the device (75.0 % of the step, high confidence)"
    )
    assert [(row.name, row.mark) for row in rows] == [
        ("memory bandwidth, estimated", "bound by this"),
        ("other work on the device", "bound by this"),
        ("the host", ""),
    ]


@pytest.mark.parametrize("primary", [Bottleneck.ENVIRONMENT, Bottleneck.UNKNOWN])
def test_what_is_no_word_on_the_code_has_no_share(make, primary):
    assert "%" not in bottleneck_phrase(make.classification(primary))


def test_two_sides_are_compared_in_one_sentence(make):
    base, head = make.classification(Bottleneck.COMPUTE, 0.81), make.classification()

    same = plain_text(bottleneck_change_sentence(base, head))
    other = plain_text(bottleneck_change_sentence(base, make.classification(Bottleneck.INPUT, 0.4)))

    assert same.endswith("on base, and by the same on head (72.0 %).")
    assert other.startswith("Bound by compute (81.0 % of the step, high confidence) on base")
    assert other.endswith("and by input (40.0 % of the step, high confidence) on head.")


def test_a_side_without_a_clear_bottleneck_is_not_bound_by_the_same(make):
    unsure = replace(
        make.classification(Bottleneck.TRANSFER, 0.25),
        shares=(
            BottleneckShare(
                bottleneck=Bottleneck.DEVICE, share=0.55, is_high=False, is_moderate=False
            ),
            BottleneckShare(
                bottleneck=Bottleneck.TRANSFER, share=0.25, is_high=True, is_moderate=True
            ),
        ),
        confidence=BottleneckConfidence.LOW,
    )
    bound = make.classification(Bottleneck.TRANSFER, 0.95)
    unclear = "o clear bottleneck: work on the device (55.0 % of the step), and copies between "

    better = plain_text(bottleneck_change_sentence(bound, unsure))
    neither = plain_text(bottleneck_change_sentence(unsure, unsure))

    assert better.startswith("Bound by copies between host and device (95.0 %")
    assert f"on base, and n{unclear}" in better
    assert neither.startswith(f"N{unclear}")
    assert f"on base, and n{unclear}" in neither


def test_a_side_that_is_not_known_is_not_made_up(make):
    head = make.classification()

    assert bottleneck_change_sentence(None, None) == ""
    assert bottleneck_change_sentence(None, head).startswith("Bound by compute")
    assert share_pairs(None, head) == ()


def test_all_the_shares_are_shown_with_what_they_could_bring(make):
    first, second = share_rows(make.classification())

    assert (first.mark, second.mark) == ("bound by this", "moderate")
    assert plain_text(second.ceiling) == "1.2 times as fast"


@pytest.mark.parametrize("share", [1.0, float("nan"), 1.5])
def test_a_share_of_all_has_no_ceiling(make, share):
    whole_bottleneck_share = BottleneckShare(
        bottleneck=Bottleneck.HOST, share=share, is_high=True, is_moderate=True
    )
    (row,) = share_rows(replace(make.classification(), shares=(whole_bottleneck_share,)))

    assert row.ceiling == ""
    assert row.mark == "high"
    assert 0 <= row.part <= 1


def test_the_shares_of_both_sides_stand_beside_each_other(make):
    base, head = make.classification(Bottleneck.INPUT, 0.9), make.classification()

    texts = {
        pair.name: (plain_text(pair.base), plain_text(pair.head))
        for pair in share_pairs(base, head)
    }

    assert texts == {
        "compute": ("", "72.0 %"),
        "the host": ("16.0 %", "16.0 %"),
        "input": ("90.0 %", ""),
    }


def test_advice_says_what_it_could_save_and_what_that_assumes(make):
    (row,) = advice_rows((make.ADVICE,))

    assert plain_text(row.bound) == "Estimate: 16 % less time (7.80 ms), if launches take no time."


@pytest.mark.parametrize("bound", [Bottleneck.COMPUTE, Bottleneck.MEMORY, Bottleneck.LATENCY])
def test_what_kernels_do_not_explain_is_other_work_on_the_device(make, bound):
    of = partial(BottleneckShare, share=0.4, is_high=False, is_moderate=False)
    shares = (of(bottleneck=bound), of(bottleneck=Bottleneck.DEVICE))

    _, rest = share_rows(replace(make.classification(), shares=shares))

    assert rest.name == "other work on the device"


def test_a_step_without_almost_all_of_itself_is_not_a_million_times_as_fast(make):
    share = BottleneckShare(
        bottleneck=Bottleneck.HOST, share=0.99999, is_high=True, is_moderate=True
    )

    (row,) = share_rows(replace(make.classification(), shares=(share,)))

    assert plain_text(row.ceiling) == "over 1,000 times as fast"


@pytest.mark.parametrize(("share", "text"), [(0.0006, 1), (0.0004, 0)])
def test_a_share_that_would_read_as_nothing_is_left_out(make, share, text):
    small = BottleneckShare(
        bottleneck=Bottleneck.INPUT, share=share, is_high=False, is_moderate=False
    )
    side = replace(make.classification(), shares=(small,))

    assert len(share_pairs(side, side)) == text
