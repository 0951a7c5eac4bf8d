from dataclasses import replace

import pytest

from perfledger.metrics import STEP_TIME, MetricKind
from perfledger_baselines.judging.verdict import Outcome
from perfledger_service.rendering.layout import number_format, verdict_rows
from perfledger_service.values.report import ProcessSteps


def test_what_needs_a_reader_comes_first_and_speed_before_the_rest(reports):
    order = [(row.word, row.metric) for row in verdict_rows.verdict_rows(reports["regressed"])]

    assert order[:3] == [
        ("regressed", "step time"),
        ("regressed", "peak memory"),
        ("improved", "step time"),
    ]
    assert {word for word, _ in order[3:]} == {"unchanged"}


def test_a_warning_comes_before_what_improved(reports, make):
    warned = make.verdict(
        make.GPT, make.PEAK_MEMORY, Outcome.UNCHANGED, (1.0, 1.01), is_warning=True
    )
    report = replace(reports["regressed"], verdicts=(reports["regressed"].verdicts[3], warned))

    assert [row.word for row in verdict_rows.verdict_rows(report)] == [
        "unchanged, warning",
        "improved",
    ]


def test_a_change_that_is_no_number_sorts_and_is_not_shown(reports):
    report = reports["regressed"]
    broken = replace(report.verdicts[0].estimate, change=float("nan"))

    (row,) = verdict_rows.verdict_rows(
        replace(report, verdicts=(replace(report.verdicts[0], estimate=broken),))
    )

    assert row.change == number_format.NOT_KNOWN


def test_throughput_of_no_time_is_not_known(reports):
    report = reports["regressed"]
    frozen = replace(report.verdicts[0].estimate, base=0.0)
    verdicts = (replace(report.verdicts[0], estimate=frozen),)

    (row,) = verdict_rows.throughput_rows(replace(report, verdicts=verdicts))

    assert (row.base, row.head) == (number_format.NOT_KNOWN, "563,800")


def test_pairs_that_nobody_measures_are_said_to_be_more_and_what_has_no_spread_needs_none(
    reports, make
):
    (speed, *_) = reports["regressed"].pairs_needed
    report = replace(reports["regressed"], pairs_needed=(replace(speed, pairs=None),))

    needed = {
        row.workload: row.needed
        for row in verdict_rows.verdict_rows(report)
        if row.kind is MetricKind.SPEED
    }

    assert needed[make.GPT] == ">\N{NO-BREAK SPACE}1,000"
    assert needed[make.RESNET] == ""


def test_a_verdicts_row_has_its_figures_in_words_and_units(reports, make):
    row = verdict_rows.verdict_rows(reports["regressed"])[0]

    texts = (row.base, row.head, row.change, row.interval, row.detectable, row.p_value)
    assert tuple(text.replace("\xa0", " ") for text in texts) == (
        "12.3 ms",
        "14.5 ms",
        "+18.2 %",
        "+16.9 to +19.7",
        "1.6 %",
        "< 0.0001",
    )
    assert (row.workload, row.metric, row.unit, row.pairs) == (make.GPT, "step time", "", "6")
    assert (row.tone, row.word, row.is_known_metric) == ("regressed", "regressed", True)


def test_a_metric_of_others_keeps_its_name_and_has_its_unit_beside_the_figures(reports, make):
    loss = replace(STEP_TIME, name="<loss>", unit="nats")
    verdict = make.verdict(make.GPT, loss, Outcome.UNCHANGED, (2.0, 2.0))

    (row,) = verdict_rows.verdict_rows(replace(reports["regressed"], verdicts=(verdict,)))

    assert (row.metric, row.unit, row.base, row.is_known_metric) == ("<loss>", "nats", "2", False)


def test_what_was_not_measured_has_no_figures(reports):
    row = verdict_rows.verdict_rows(reports["not_measured"])[0]

    assert row.outcome is Outcome.NOT_MEASURED
    assert {row.unit, row.base, row.head, row.change, row.interval, row.pairs, row.p_value} == {""}


def test_what_was_counted_has_a_change_and_no_interval(reports, make):
    counted_exactly = make.verdict(make.GPT, make.PEAK_MEMORY, Outcome.REGRESSED, (1e9, 1.1e9))

    (row,) = verdict_rows.verdict_rows(replace(reports["regressed"], verdicts=(counted_exactly,)))

    assert (row.change, row.interval) == ("+10.0\xa0%", "")


def test_a_fall_that_was_traded_for_speed_stands_with_what_improved(reports, make):
    faster = make.verdict(make.GPT, make.STEP_TIME, Outcome.IMPROVED, (0.02, 0.01))
    idler = make.verdict(make.GPT, make.SM_ACTIVE, Outcome.REGRESSED, (0.9, 0.8))
    undecided = make.verdict(make.RESNET, make.STEP_TIME, Outcome.UNDECIDED, (1.0, 1.0))
    report = replace(reports["regressed"], verdicts=(idler, faster, undecided))

    words = [(row.word, row.tone) for row in verdict_rows.verdict_rows(report)]

    assert words == [
        ("undecided", "undecided"),
        ("improved", "improved"),
        ("regressed, for speed", "warning"),
    ]


def test_reasons_are_for_what_is_uncertain_or_was_decided_early(reports, make):
    early = make.verdict(make.GPT, make.STEP_TIME, Outcome.REGRESSED, (1.0, 2.0), pairs=3)
    soon_unchanged = replace(early, workload=make.RESNET, outcome=Outcome.UNCHANGED)
    report = replace(
        reports["undecided"], verdicts=(*reports["undecided"].verdicts, early, soon_unchanged)
    )

    rows = verdict_rows.uncertain_rows(verdict_rows.verdict_rows(report))

    assert [(row.workload, row.word) for row in rows] == [
        (make.GPT, "regressed"),
        (make.RESNET, "undecided"),
        (make.TRANSFORMER, "undecided, warning"),
    ]


@pytest.mark.parametrize("outcome", [Outcome.UNCHANGED, Outcome.REGRESSED, Outcome.IMPROVED])
def test_what_other_load_has_a_part_in_says_so(reports, make, outcome):
    proven = make.verdict(make.GPT, make.STEP_TIME, outcome, (1.0, 1.0))
    beside_load = replace(proven, workload=make.RESNET, queued_share=0.3)
    report = replace(reports["undecided"], verdicts=(proven, beside_load))

    rows = verdict_rows.uncertain_rows(verdict_rows.verdict_rows(report))

    assert [(row.workload, row.word) for row in rows] == [(make.RESNET, str(outcome))]
    assert rows[0].basis == "without waits for a core"


def test_rates_of_times_without_waits_say_so(reports):
    report = reports["regressed"]
    beside_load = replace(
        report, verdicts=tuple(replace(each, queued_share=0.3) for each in report.verdicts)
    )

    for judged, basis in ((report, ""), (beside_load, "without waits for a core")):
        assert {row.basis for row in verdict_rows.throughput_rows(judged)} == {basis}
        assert {row.basis for row in verdict_rows.work_rows(judged)} == {basis}


def test_rows_are_grouped_by_workload_in_their_order(reports, make):
    rows = verdict_rows.verdict_rows(reports["regressed"])

    groups = verdict_rows.group_by_workload(rows)

    assert [name for name, _ in groups][:2] == [make.GPT, make.RESNET]
    assert sum(len(group) for _, group in groups) == len(rows)
    assert all(row.workload == name for name, group in groups for row in group)


@pytest.mark.parametrize(
    ("size", "count", "left_out"), [(10, 10, 0), (9, 5, 5), (4, 4, 6), (3, 3, 7), (0, 3, 7)]
)
def test_a_small_table_has_all_that_is_loud_and_then_quiet_speeds(reports, size, count, left_out):
    rows = verdict_rows.verdict_rows(reports["regressed"])

    top, folded = verdict_rows.split_verdict_rows(rows, limit=size)

    assert (len(top), folded) == (count, left_out)
    assert [row.is_quiet for row in top[:3]] == [False] * 3
    assert folded == 0 or {row.kind for row in top[3:]} <= {MetricKind.SPEED}


def test_throughput_is_in_the_workloads_own_unit(reports, make):
    first = verdict_rows.throughput_rows(reports["regressed"])[0]

    assert (first.workload, first.unit) == (make.GPT, "tokens")
    assert (first.base, first.head) == ("666,600", "563,800")


@pytest.mark.parametrize(
    ("steps", "sentence"),
    [
        ((), ""),
        (((1, 1),), "1 step"),
        (((20, 20), (20, 20)), "20 steps"),
        (((10, 20), (5, 7)), "5 to 20 steps"),
    ],
)
def test_the_steps_of_a_process_are_counted(reports, make, steps, sentence):
    of_workloads = tuple(
        ProcessSteps(workload=make.GPT, fewest=fewest, most=most, best=None)
        for fewest, most in steps
    )

    step_count_sentence = verdict_rows.step_count_sentence(
        replace(reports["regressed"], steps=of_workloads)
    )

    assert step_count_sentence == sentence


def test_work_has_its_share_of_the_peak_where_the_peak_is_known(reports):
    (known_work_row,) = verdict_rows.work_rows(reports["regressed"])
    (unknown,) = verdict_rows.work_rows(reports["cpu_only"])

    assert known_work_row.work.replace("\xa0", " ") == "4.31 TFLOP"
    assert known_work_row.share.replace("\xa0", " ") == "35.4 % → 30.0 %"
    assert unknown.share == ""
