from dataclasses import replace

import pytest

from perfledger import step_work
from perfledger.metrics import METRICS, MetricKind
from perfledger.records import FailureReason
from perfledger_baselines.estimation.work_counts import CountChange, WorkComparison
from perfledger_baselines.judging.verdict import Outcome
from perfledger_baselines.significance.spread_prior import PriorSource, SpreadPrior
from perfledger_cost_models.quote import Provenance
from perfledger_profiles.diff.cause import ChangeKind
from perfledger_service.rendering.check.comment import comment
from perfledger_service.rendering.check.terminal import plain_text
from perfledger_service.rendering.cost import price_rows
from perfledger_service.rendering.layout import (
    number_format,
    provenance_facts,
    verdict_rows,
    vocabulary,
)
from perfledger_service.rendering.trace import cause_rows


@pytest.mark.parametrize("metric", list(METRICS.values()), ids=list(METRICS))
def test_every_metric_has_a_label_and_a_unit_that_is_shown(metric):
    assert vocabulary.metric_label(metric.name)
    assert vocabulary.foreign_unit(metric.unit) == ""


@pytest.mark.parametrize("why", list(FailureReason))
def test_every_reason_has_its_words(why):
    assert vocabulary.failure_reason_phrase(why)


def test_every_outcome_has_a_mark_and_a_colour_of_its_own():
    assert len({vocabulary.mark(outcome) for outcome in Outcome}) == len(Outcome)
    assert len({vocabulary.tone(outcome) for outcome in Outcome}) == len(Outcome)
    assert vocabulary.mark(Outcome.UNDECIDED, is_warning=True) not in map(vocabulary.mark, Outcome)
    assert vocabulary.tone("<b>") == "unknown"


def test_every_provenance_has_its_words():
    assert len({vocabulary.provenance(known) for known in Provenance}) == len(Provenance)


@pytest.mark.parametrize(
    ("how", "seconds", "counts", "expected"),
    [
        (ChangeKind.RATE, (1.0, 2.0), (3.0, 3.0), "each call is slower"),
        (ChangeKind.RATE, (2.0, 1.0), (3.0, 3.0), "each call is faster"),
        (ChangeKind.COUNT, (1.0, 2.0), (24.0, 60.5), "60.50 calls a step, 24 before"),
        (ChangeKind.NEW, (0.0, 1.0), (0.0, 1.0), "new, 1 call a step"),
        (ChangeKind.GONE, (1.0, 0.0), (2.0, 0.0), "gone, 2 calls a step before"),
        (ChangeKind.REPLACED, (1.0, 2.0), (1.0, 1.0), "takes the place of"),
    ],
)
def test_how_an_operation_changed(make, how, seconds, counts, expected):
    assert vocabulary.change_phrase(make.cause("op", how, seconds, counts)) == expected


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


def test_causes_that_are_not_listed_count_as_rest(reports):
    (block,) = cause_rows.reason_blocks(reports["regressed"], max_causes=2)

    assert (block.hidden, len(block.causes)) == (2, 2)
    assert block.rest == number_format.signed_seconds(-0.00002 + 0.00031 - 0.00011)
    assert [cause.part for cause in block.causes] == [1.0, pytest.approx(0.38 / 1.72)]


def test_a_share_of_no_change_is_not_shown(reports):
    explanation = reports["regressed"].explanations[0]
    still = replace(explanation, head_step_seconds=explanation.base_step_seconds)

    (block,) = cause_rows.reason_blocks(
        replace(reports["regressed"], explanations=(still,)), max_causes=9
    )

    assert {cause.share for cause in block.causes} == {""}


def test_the_dearest_change_comes_first_and_what_has_no_price_last(reports):
    report = reports["regressed"]
    unpriced = replace(report.change_prices[0], usd=None, low=None, high=None, note="no fleet")

    shown = price_rows.price_rows(
        replace(report, change_prices=(unpriced, *reversed(report.change_prices)))
    )

    assert [row.verb for row in shown] == ["costs", "saves", "no detectable change", ""]


def test_a_price_that_rests_on_two_figures_names_its_source_once(reports):
    sources = price_rows.source_rows(reports["regressed"])

    assert [row.option for row in sources] == [
        "AWS p5.48xlarge, on demand",
        "8 x H100 server on premises",
    ]


def test_uncommitted_changes_are_said_and_repeated_from_the_working_folder(reports):
    report = reports["regressed"]
    dirty = replace(report, head=replace(report.head, is_dirty=True, ref=""))

    assert (
        provenance_facts.revision_facts(dirty)[1].value == "d41e7b9a0c2f with uncommitted changes"
    )
    assert "--head" not in provenance_facts.reproduction(dirty)


def test_a_command_that_would_name_many_workloads_names_none(reports, make):
    report = reports["regressed"]
    specs = tuple(replace(make.SPECS[0], id=f"b.m{number}:f") for number in range(5))
    verdicts = tuple(
        make.verdict(spec.id, make.STEP_TIME, Outcome.NOT_MEASURED, None) for spec in specs
    )

    few = provenance_facts.reproduction(replace(report, workloads=specs[:1], verdicts=verdicts))
    many = provenance_facts.reproduction(replace(report, workloads=specs, verdicts=verdicts))

    assert few == "perfledger check --base 8c1f0a2b3c4d --head d41e7b9a0c2f --workload b.m0:f"
    assert many == "perfledger check --base 8c1f0a2b3c4d --head d41e7b9a0c2f"


def test_a_command_names_a_workload_by_its_whole_id_or_not_at_all(reports, make):
    report = reports["regressed"]
    spec = make.SPECS[0]

    def command(name):
        verdict = make.verdict(name, make.STEP_TIME, Outcome.NOT_MEASURED, None)
        workloads = (replace(spec, id=name),)
        return provenance_facts.reproduction(
            replace(report, workloads=workloads, verdicts=(verdict,))
        )

    assert command("b:f[batch=8]").endswith("--workload 'b:f[batch=8]'")
    assert "--workload" not in command("b:" + "f" * 300)
    assert "--workload" not in command("b:f\u202e")


def test_a_change_that_is_not_proven_only_could_cost(reports, make):
    report = reports["regressed"]
    unsure = make.verdict(make.GPT, make.STEP_TIME, Outcome.UNDECIDED, (0.012, 0.0125))
    prices_of_it = (report.change_prices[0], replace(report.change_prices[1], workload=make.GPT))

    report = replace(report, verdicts=(unsure,), change_prices=prices_of_it)

    assert [row.verb for row in price_rows.price_rows(report)] == ["could cost", "could save"]
    assert "could cost 25,000 USD a year" in " ".join(plain_text(report).split())
    assert "Could cost 25,000" in comment(report).replace("\u00a0", " ")


def test_a_plan_without_looks_names_none(reports):
    report = reports["regressed"]
    last = provenance_facts.decision_sentences(
        replace(report, plan=replace(report.plan, looks=()))
    )[-1]

    assert last.replace("\u00a0", " ") == "Each interval has level 95 %."


def test_a_check_without_pairs_says_so(reports, make):
    failed = make.verdict(make.GPT, make.STEP_TIME, Outcome.NOT_MEASURED, None)

    how = provenance_facts.decision_sentences(replace(reports["regressed"], verdicts=(failed,)))[0]

    assert how.startswith("Measured in no pairs")


def test_turns_are_said_of_the_workloads_that_took_them(reports, make):
    report = reports["cpu_only"]
    all_of_them, some, none = (
        provenance_facts.decision_sentences(replace(report, interleaved_workloads=names))[0]
        for names in ((make.GPT, make.TRANSFORMER), (make.GPT,), ())
    )

    assert "base and head taking turns; which" in all_of_them
    assert "base and head taking turns in 1 of 2 workloads; which" in some
    assert "base and head back to back" in none
    assert "turn" not in none


@pytest.mark.parametrize(
    ("source", "margin", "is_said"),
    [
        (PriorSource.PAIRS, 0.01, True),
        (PriorSource.RUNS, 0.01, False),
        (PriorSource.PAIRS, 0.003, False),
    ],
)
def test_a_floor_of_a_series_own_is_said_where_it_may_have_one(reports, source, margin, is_said):
    report = reports["regressed"]
    prior = SpreadPrior(variance=1e-5, degrees=25, source=source, values=100)
    verdicts = (replace(report.verdicts[0], prior=prior), *report.verdicts[1:])
    plan = replace(report.plan, margin=margin)

    red = provenance_facts.decision_sentences(replace(report, verdicts=verdicts, plan=plan))[1]

    own = ", or by more than a series' own floor where earlier pairs tell one (at most 1 %), with"
    assert (own in red.replace("\u00a0", " ")) == is_said


def test_what_is_not_known_of_a_machine_is_left_out(make):
    names = {fact.name for fact in provenance_facts.machine_facts(make.CPU)}

    assert names == {"Device", "CPU", "Kernel", "Python", "Frameworks"}


def test_several_devices_and_an_unlocked_clock_are_said(make):
    machine = replace(make.H100, count=8, is_clock_locked=False)
    known = {
        fact.name: fact.value.replace("\u00a0", " ")
        for fact in provenance_facts.machine_facts(machine)
    }

    assert known["Device"] == "8 x cuda"
    assert known["Clock"] == "1,980 MHz, not locked"


def test_the_terminal_says_what_a_change_that_cannot_be_seen_could_cost(reports):
    report = reports["regressed"]
    price = replace(report.change_prices[2], workload=report.verdicts[0].workload)
    unpriced = replace(price, usd=None, low=None, high=None, rate=None, note="no fleet")

    text = " ".join(plain_text(replace(report, change_prices=(price, unpriced))).split())

    assert "no detectable change in cost, somewhere from -399 to +703 USD a year on AWS" in text
    assert "has no yearly price. No fleet." in text


def counted(reports, *changes):
    counts = tuple(
        CountChange(name="bytes_per_step", unit="B", base=base, head=head, source="a counter")
        for base, head in changes
    )
    compared = WorkComparison(workload="m:f", counts=counts, limits=(), is_same_program=None)
    return replace(reports["unchanged"], work_counts=(compared,))


def test_counts_that_differ_by_less_than_can_be_shown_are_on_the_page_only(reports):
    report = counted(reports, (1e6, 1e6 + 1), (1e6, 1.1e6), (0.0, 5.0), (7.0, 7.0))

    assert [row.change for row in verdict_rows.changed_counts(report)] == ["+10.0\xa0%", ""]
    (group,) = verdict_rows.count_groups(report)
    assert [row.has_changed for row in group.counts] == [True, True, True, False]


def test_workloads_with_changed_counts_come_first(reports):
    report = counted(reports, (1.0, 2.0))
    quiet = replace(report.work_counts[0], workload="a:quiet", counts=(), is_same_program=True)

    groups = verdict_rows.count_groups(replace(report, work_counts=(quiet, *report.work_counts)))

    assert [(group.workload, group.has_changed) for group in groups] == [
        ("m:f", True),
        ("a:quiet", False),
    ]
    assert groups[1].is_same_program


@pytest.mark.parametrize(
    ("value", "unit", "shown"),
    [(812.0, "1", "812"), (1184.0, "1", "1,184"), (4.2e6, "FLOP", "4.20\xa0MFLOP")],
)
def test_counts_are_numbers_and_no_shares(value, unit, shown):
    assert vocabulary.count_with_unit(value, unit) == shown


def test_every_count_has_its_words():
    names = {value for name, value in vars(step_work).items() if name.isupper()}

    assert names
    assert all(vocabulary.count_label(name) != name for name in names)


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
