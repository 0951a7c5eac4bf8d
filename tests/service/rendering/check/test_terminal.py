import io
from dataclasses import replace

import pytest
from hypothesis import given, settings, strategies as st
from rich.console import Console

from perfledger_baselines.estimation.pairing import PairedTest
from perfledger_baselines.estimation.work_counts import CountChange, WorkComparison
from perfledger_baselines.judging.verdict import Outcome
from perfledger_service.rendering.check.terminal import report_table
from perfledger_service.rendering.layout.check_command import reproduction
from perfledger_service.rendering.layout.writers import plain_lines
from perfledger_service.values.check_options import CheckOptions
from tests.service.rendering.terminal_lines import lines_at
from tests.suite.tries import tries

NASTY = (
    "[bold red]x[/]",
    "\x1b[31m",
    "\x1b]8;;http://evil.example\x07",
    "\r",
    "\n",
    "\u202e",
    "é",
    "a" * 40,
)
pieces = st.one_of(st.sampled_from(NASTY), st.text(max_size=5))
nasty = st.lists(pieces, min_size=1, max_size=6).map("".join)


def plain_text(report, *, width=80):
    return lines_at(report_table(report), width=width)


def test_the_table_is_as_agreed(named_report, matches_golden):
    name, report = named_report

    matches_golden(f"terminal_{name}.txt", plain_text(report))


def test_the_table_fits_80_columns_and_needs_no_colour(named_report):
    _, report = named_report

    text = plain_text(report)

    assert max(map(len, text.splitlines())) <= 80
    assert "\x1b" not in text


def test_no_line_of_the_command_is_broken_or_cut(reports):
    options = CheckOptions(workloads=("benchmarks.a_long_name:step[" + "batch=8," * 12 + "]",))
    report = replace(reports["no_price"], verdicts=(), options=options)

    lines = plain_lines(report_table(report)).splitlines()

    command = [f"  {line}" for line in reproduction(report).splitlines()]
    assert max(map(len, command)) > 80
    at = lines.index(command[0])
    assert lines[at : at + len(command)] == command


def test_a_wide_terminal_is_used(reports):
    assert len(plain_text(reports["regressed"], width=160).splitlines()) < len(
        plain_text(reports["regressed"]).splitlines()
    )


def test_colour_only_repeats_the_words(reports):
    coloured = io.StringIO()
    console = Console(file=coloured, width=80, force_terminal=True, color_system="truecolor")

    console.print(report_table(reports["regressed"]))

    assert "\x1b[1;31m" in coloured.getvalue()


def test_what_cannot_be_priced_says_so(reports):
    text = " ".join(plain_text(reports["cpu_only"]).split())

    assert "unavailable on this device: measured on a CPU, which is not on the price sheet" in text
    assert "on AWS p5.48xlarge, on demand, declared" in text.replace("0.00466 USD AWS", "on AWS")


@pytest.mark.slow(ci_only=True)
def test_hostile_text_cannot_steer_the_terminal(reports, rewrite):
    @settings(max_examples=tries(30), deadline=None)
    @given(nasty)
    def holds(text):
        for name in ("regressed", "not_measured"):
            report = rewrite(reports[name], lambda original: original and text + original)

            lines = plain_text(report)

            assert not {"\x1b", "\r", "\x07", "\u202e"} & set(lines)
            assert ("[bold red]" in lines) == ("[bold red]" in text)

    holds()


def test_pairs_are_drawn_below_what_changed_and_not_below_what_did_not(reports):
    report = reports["undecided"]
    tests = tuple(
        PairedTest(
            workload=verdict.workload,
            metric=verdict.metric,
            base=(1.0, 1.0),
            head=(0.99, 1.05),
            numbers=(1, 2),
        )
        for verdict in report.verdicts
    )

    lines = plain_text(replace(report, tests=tests)).splitlines()

    texts = [line.strip() for line in lines if line.endswith(": pairs, interval, margin")]
    assert texts == ["step time: pairs, interval, margin", "peak memory: pairs, interval, margin"]
    assert max(map(len, lines)) <= 80
    first = lines.index("  step time: pairs, interval, margin")
    assert lines[first + 1].count("\N{BULLET}") == 2
    assert "\N{BLACK CIRCLE}" in lines[first + 2]


def test_a_change_that_is_not_proven_only_could_cost(reports, make):
    report = reports["regressed"]
    unsure = make.verdict(make.GPT, make.STEP_TIME, Outcome.UNDECIDED, (0.012, 0.0125))

    text = plain_text(replace(report, verdicts=(unsure,), change_prices=report.change_prices[:1]))

    assert "could cost 25,000 USD a year" in " ".join(text.split())


def test_what_a_change_that_cannot_be_seen_could_cost_is_said(reports):
    report = reports["regressed"]
    price = replace(report.change_prices[2], workload=report.verdicts[0].workload)
    unpriced = replace(price, usd=None, low=None, high=None, rate=None, note="no fleet")

    text = " ".join(plain_text(replace(report, change_prices=(price, unpriced))).split())

    assert "no detectable change in cost (-399 to +703 USD a year) on AWS" in text
    assert "has no yearly price. No fleet." in text


def test_a_cause_says_what_a_step_takes_without_it(reports, make):
    report = reports["regressed"]
    explanation = replace(report.explanations[0], causes=(make.cast_to_double(),))

    text = plain_text(replace(report, explanations=(explanation,)), width=200)

    printed = text.replace("\u00a0", " ")
    assert "calls are slower; a different type: float[64,64] became double[64,64]" in printed
    assert "Without it a step takes 12.6 ms (-13.7 %)" in printed


def test_the_last_twelve_lines_of_a_log_are_shown(reports):
    report = reports["not_measured"]
    log = "\n".join(f"line {number}." for number in range(14))

    lines = plain_text(replace(report, failures=(replace(report.failures[0], log_tail=log),)))

    assert [f"line {number}." in lines for number in (1, 2, 13)] == [False, True, True]


@pytest.mark.parametrize(("workloads", "lines_each"), [(5, True), (6, False), (400, False)])
def test_many_workloads_that_were_not_measured_for_one_reason_are_one_line(
    reports, workloads, lines_each
):
    report = reports["not_measured"]
    failure = replace(report.failures[0], log_tail="", detail="the budget was spent")
    (verdict, *_) = report.verdicts_of(Outcome.NOT_MEASURED)
    names = [f"bench.w{number:03}:step" for number in range(workloads)]

    text = plain_text(
        replace(
            report,
            failures=tuple(replace(failure, workload=name) for name in names),
            verdicts=tuple(replace(verdict, workload=name) for name in names),
        ),
        width=200,
    ).partition("Not measured")
    first_lines = [line.strip() for line in text[2].splitlines() if "bench.w" in line]

    assert sum(names[-1] in line for line in first_lines) == lines_each
    assert (f"and {workloads - 1} more workloads" in text[2]) != lines_each
    assert (names[-1] in text[0]) == lines_each  # the table of results


def test_a_log_keeps_its_indentation_and_its_first_400_characters(reports):
    report = reports["not_measured"]
    log = "\n".join(("\tx", "  y", 60 * " " + "z", "w" * 500))
    failures = (replace(report.failures[0], log_tail=log), *report.failures[1:])

    lines = plain_text(replace(report, failures=failures), width=600).splitlines()

    indent = 4 * " "
    assert {f"{indent}    x", f"{indent}  y", f"{indent}{40 * ' '}z"} <= set(lines)
    (logged,) = (line for line in lines if line.startswith(f"{indent}www"))
    assert logged.rstrip().count("w") == 399  # and a sign that there was more


@pytest.mark.parametrize("is_complete", [True, False])
def test_an_incomplete_count_has_its_reason(reports, is_complete):
    count = CountChange(
        name="flops_per_step",
        unit="FLOP",
        base=604e6,
        head=470e6,
        source="a counter",
        head_is_complete=is_complete,
    )
    limit = "the work of libraries is not counted: numpy"
    work_comparison = WorkComparison(
        workload="m:f", counts=(count,), limits=(limit,), is_same_program=None
    )

    text = plain_text(replace(reports["unchanged"], work_counts=(work_comparison,)))

    assert ("incomplete" in text) is not is_complete
    assert ("The work of libraries is not counted: numpy." in text) is not is_complete
