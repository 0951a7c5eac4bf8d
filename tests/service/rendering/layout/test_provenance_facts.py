from dataclasses import replace
from decimal import Decimal

import pytest

from perfledger.records import Device, Machine
from perfledger_baselines.judging.verdict import Outcome
from perfledger_baselines.significance.spread_prior import PriorSource, SpreadPrior
from perfledger_service.rendering.check.comment import comment
from perfledger_service.rendering.layout import provenance_facts
from perfledger_service.values.report import CheckCost, CheckCostSource

SETTING, FLEET = CheckCostSource.SETTING, CheckCostSource.FLEET


def test_uncommitted_changes_are_said_and_repeated_from_the_working_folder(reports):
    report = reports["regressed"]
    dirty = replace(report, head=replace(report.head, is_dirty=True, ref=""))

    assert (
        provenance_facts.revision_facts(dirty)[1].value == "d41e7b9a0c2f with uncommitted changes"
    )


def test_a_plan_without_looks_names_none(reports):
    report = reports["regressed"]
    last = provenance_facts.decision_sentences(
        replace(report, plan=replace(report.plan, looks=()))
    )[-1]

    assert last.replace("\u00a0", " ") == (
        "Each interval has level 95 % (90 % for unchanged, which it proves)."
    )


def test_the_level_of_intervals_is_that_of_the_tests_that_kernels_leave(reports):
    report = reports["regressed"]
    plan = replace(report.plan, alpha=0.05, kernel_pairs=12, kernel_share=0.2)
    last = provenance_facts.decision_sentences(replace(report, plan=plan))[-1]

    assert last.replace("\u00a0", " ").startswith("Each interval has level 96 % (92 % for")


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

    assert "base and head interleaved in random" in all_of_them
    assert "base and head interleaved in 1 of 2 workloads in random order" in some
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

    own = ", or by more than a series' own floor, learnt from earlier pairs (at most 1 %), with"
    assert (own in red.replace("\u00a0", " ")) == is_said


def test_what_is_not_known_of_a_machine_is_left_out(make):
    names = {fact.name for fact in provenance_facts.machine_facts(make.CPU)}

    assert names == {"Device", "CPU", "Kernel", "Python", "Frameworks"}


def test_several_devices_and_an_unlocked_clock_are_said(make):
    machine = replace(make.H100, count=8, is_clock_locked=False)
    known_texts = {
        fact.name: fact.value.replace("\u00a0", " ")
        for fact in provenance_facts.machine_facts(machine)
    }

    assert known_texts["Device"] == "8 x cuda"
    assert known_texts["Clock"] == "1,980 MHz, not locked"


def test_of_a_machine_nothing_is_known_but_its_kind_and_cores():
    facts = provenance_facts.machine_facts(Machine(device=Device.CPU, model="", cores=1))

    assert [(fact.name, fact.value) for fact in facts] == [("Device", "cpu"), ("CPU", "1 core")]


def test_everything_known_of_a_machine_is_a_fact(make):
    machine = replace(make.H100, mig="1g.10gb", topology="NV18")
    facts = {fact.name: fact for fact in provenance_facts.machine_facts(machine)}

    values = {name: fact.value.replace("\u00a0", " ") for name, fact in facts.items() if fact.value}
    assert values == {
        "Device": "cuda",
        "Device memory": "79.6 GiB",
        "Clock": "1,980 MHz, locked",
        "Power cap": "700 W",
        "ECC": "on",
        "CPU": "112 cores",
    }
    assert facts["MIG"].untrusted == ("1g.10gb",)
    assert facts["Frameworks"].untrusted == ("torch 2.13.0", "jax 0.10.2")


def test_a_revision_has_its_branch_and_its_subject(reports):
    base, head = provenance_facts.revision_facts(reports["regressed"])

    assert (base.name, base.value) == ("Base", "8c1f0a2b3c4d")
    assert base.untrusted == ("main", "Bump the tokenizer")
    assert (head.name, head.value) == ("Head", "d41e7b9a0c2f")


def test_names_that_our_sentences_may_quote_are_known_and_short_ones_are_left_out(reports, make):
    spec = replace(make.SPECS[0], id="m:f")
    report = replace(reports["regressed"], workloads=(spec, make.SPECS[1]))

    names = provenance_facts.untrusted_names(report)

    assert names == (make.H100.model, make.H100.cpu_model, make.RESNET)


def test_earlier_pairs_are_said_to_have_helped_where_they_did(reports):
    report = reports["regressed"]
    priors = [
        SpreadPrior(variance=1e-5, degrees=25, source=PriorSource.PAIRS, values=values)
        for values in (100, 40)
    ]
    first, second, *others = report.verdicts
    verdicts = (replace(first, prior=priors[0]), replace(second, prior=priors[1]), *others)

    sentence = provenance_facts.decision_sentences(replace(report, verdicts=verdicts))[-1]

    many = f"For 2 of {len(report.verdicts)} verdicts the spread of pairs was known from 40 to 100 "
    assert many in sentence
    assert "earlier pairs" not in provenance_facts.decision_sentences(report)[-1]


def test_workloads_with_rules_of_their_own_are_named(reports, make):
    report = reports["regressed"]
    plan = replace(
        report.plan, margins={make.GPT: 0.05}, metrics={make.GPT: ("step_time_p50", "peak_memory")}
    )

    texts = [
        sentence.replace("\u00a0", " ")
        for sentence in provenance_facts.decision_sentences(replace(report, plan=plan))
    ]

    assert any(f"within 1 % either way (5 % for {make.GPT})." in text for text in texts)
    chosen = f"Judged by metrics of their own: {make.GPT} by step time, peak memory."
    assert chosen in texts
    own = provenance_facts.own_rule(plan, make.GPT).replace("\u00a0", " ")
    assert own == "margin 5 %, judged by step time, peak memory"
    assert provenance_facts.own_rule(plan, "another:workload") == ""


def test_only_a_few_workloads_with_their_own_margin_are_named(reports):
    report = reports["regressed"]
    plan = replace(report.plan, margins={f"m:f{number}": 0.02 for number in range(7)})

    green = provenance_facts.decision_sentences(replace(report, plan=plan))[2]

    assert "for m:f3, their own for 3 more)" in green


def test_there_is_no_common_margin_where_workloads_have_their_own(reports):
    report = reports["regressed"]

    assert provenance_facts.common_margin(report).replace("\u00a0", " ") == "1 %"
    assert (
        provenance_facts.common_margin(
            replace(report, plan=replace(report.plan, margins={"m:f": 0.02}))
        )
        == ""
    )


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (
            {"low_usd": Decimal("1.5"), "high_usd": Decimal("1.5"), "source": SETTING},
            "The check held 1 device for 20 min: 1.50 USD, at the price of device_price.",
        ),
        (
            {"low_usd": Decimal(1), "high_usd": Decimal("2.25"), "source": FLEET},
            (
                "The check held 1 device for 20 min: 1.00 to 2.25 USD, at the price of the "
                "declared fleet."
            ),
        ),
        (
            {},
            (
                "The check held 1 device for 20 min; the cost of that is unknown: set "
                "`device_price`, or declare a fleet with an option for this accelerator."
            ),
        ),
    ],
)
def test_a_check_says_what_it_cost_itself(reports, values, words):
    report = replace(reports["regressed"], check_cost=CheckCost(device_s=1200.0, **values))

    sentences = provenance_facts.decision_sentences(report)

    assert sentences[-1].replace("\u00a0", " ") == words
    assert sentences[-1] in comment(report)


def test_a_check_that_does_not_say_how_long_it_took_says_nothing_of_its_cost(reports):
    sentences = provenance_facts.decision_sentences(reports["regressed"])

    assert not any("The check held" in one for one in sentences)
