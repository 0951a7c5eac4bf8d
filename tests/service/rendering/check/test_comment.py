from dataclasses import replace

import pytest

from perfledger.records import Failure, FailureReason, Side
from perfledger_baselines.judging.verdict import Outcome
from perfledger_service.rendering.check.comment import (
    MARKER,
    MAX_COMMENT,
    MAX_SUMMARY,
    check_summary,
    comment,
)
from perfledger_service.rendering.layout import vocabulary

URL = "https://perf.example.com/acme/models/pull/41"


def test_the_comment_is_as_agreed(named_report, matches_golden):
    name, report = named_report

    text = comment(replace(report, takes_commands=True), url=URL)

    assert "\n\n\n" not in text
    matches_golden(f"comment_{name}.md", text)


def test_the_marker_is_the_first_line_and_the_verdict_the_second(named_report):
    _, report = named_report

    marker, verdict = comment(report, url=URL).splitlines()[:2]

    assert marker == MARKER
    assert verdict.startswith("### ")
    assert verdict.replace("`", "").endswith(report.headline.replace("\u00a0", " "))


def test_the_summary_of_the_check_is_the_comment_without_its_marker(named_report):
    _, report = named_report

    assert MARKER + "\n" + check_summary(report, url=URL) == comment(report, url=URL)


def test_without_a_page_there_is_no_link(reports):
    assert "](" not in comment(reports["regressed"])


def test_regressions_come_first_and_many_quiet_results_are_folded(reports):
    text = comment(reports["regressed"])
    top = text.partition("<details>")[0]
    cells = [line.split("|")[1].strip() for line in top.splitlines() if line.startswith("| ")]
    marks = [cell.partition("\u00a0")[0] for cell in cells]
    words = ("regressed", "regressed", "improved", "unchanged", "unchanged")

    assert marks == ["Workload, metric", *(vocabulary.mark(Outcome(word)) for word in words)]
    assert "5 more unchanged below" in top
    assert "All 10 results" in text


def test_rows_that_the_table_has_no_room_for_are_below_and_not_left_out(reports):
    report = reports["regressed"]
    slow = next(one for one in report.verdicts if one.outcome is Outcome.REGRESSED)
    verdicts = tuple(replace(slow, workload=f"m:f{n}") for n in range(23))

    text = comment(replace(report, verdicts=verdicts))

    assert "🔴 regressed · 3 more below</sub>" in text
    assert "of 23 rows" not in text
    assert "All 23 results" in text


def test_a_warning_is_loud_and_never_red(reports):
    row = next(line for line in comment(reports["undecided"]).splitlines() if "+2.0" in line)

    assert row.startswith(f"| {vocabulary.mark(Outcome.UNDECIDED, is_warning=True)}\u00a0<code>")
    assert vocabulary.mark(Outcome.REGRESSED) not in comment(reports["undecided"])


def test_what_has_no_verdict_for_want_of_a_reading_says_why(reports, make):
    report = reports["unchanged"]
    reason = "step_time_p50 was not read on head"
    unread = make.verdict(make.GPT, make.STEP_TIME, Outcome.NOT_MEASURED, None, reason=reason)

    text = comment(replace(report, verdicts=(unread,)))

    assert f"**Why** `{reason}`" in text


def test_a_workload_that_is_only_new_is_no_failure(reports, make):
    failure = Failure(
        workload=make.GPT, side=Side.BASE, why=FailureReason.MISSING, detail="not there"
    )
    report = replace(reports["unchanged"], failures=(failure,), new_workloads=(make.GPT,))

    text = comment(report)

    assert "Not measured" not in text
    assert f"New in head, without a base: `{make.GPT}`." in text


def test_a_failure_that_repeats_in_every_pair_is_said_once(reports):
    report = reports["not_measured"]
    again = tuple(replace(report.failures[0], pair=pair) for pair in range(3))

    assert comment(replace(report, failures=again)) == comment(report)


def test_many_workloads_that_were_not_reached_are_one_line_and_no_rows(unreached):
    text = comment(unreached(400))

    assert text.count("bench.w000:step") > 0
    assert "bench.w001:step" not in text
    assert "the budget was spent`, and 399 more workloads" in text
    assert "Left out" not in text


def test_a_price_of_a_change_that_cannot_be_seen_is_no_point_but_an_interval(reports):
    price = reports["regressed"].change_prices[2]
    report = replace(reports["undecided"], change_prices=(replace(price, workload="w"),))

    text = comment(report).replace("\u00a0", " ")

    assert "**No detectable change in cost** (-399 to +703 USD a year)" in text
    assert "151" not in text


def test_what_cannot_be_priced_says_why(reports, make):
    unpriced = replace(
        reports["cpu_only"].change_prices[0],
        usd=None,
        low=None,
        high=None,
        rate=None,
        note="no fleet is declared",
    )

    text = comment(replace(reports["cpu_only"], change_prices=(unpriced,)))

    assert f"- `{make.GPT}` has no yearly price. No fleet is declared." in text


def test_what_is_not_known_on_this_device_is_said_beside_the_prices(reports):
    text = comment(reports["cpu_only"]).partition("<summary>Cost")[2]

    assert "**unavailable on this device** for `benchmarks.transformer:train_step`" in text
    assert "**declared**, not measured, for `benchmarks.gpt:train_step[batch=8]`" in text


@pytest.mark.parametrize(
    ("say", "limit", "character"),
    [
        pytest.param(comment, MAX_COMMENT, "x", marks=pytest.mark.slow(ci_only=True)),
        (comment, MAX_COMMENT, "`"),
        pytest.param(
            *(comment, MAX_COMMENT, "\N{CJK UNIFIED IDEOGRAPH-6A21}"),
            marks=pytest.mark.slow(ci_only=True),
        ),
        (check_summary, MAX_SUMMARY, "\U0001f600"),
    ],
)
@pytest.mark.slow
def test_a_giant_report_fits_and_says_what_was_left_out(reports, rewrite, say, limit, character):
    base = reports["regressed"]
    failures = reports["not_measured"].failures
    verdicts = tuple(
        replace(verdict, workload=f"{place}{character * 500}", reason=f"a_b {character * 500}")
        for place in range(60)
        for verdict in base.verdicts[:4]
    )
    giant = replace(
        base,
        headline="Performance regressed: 60 of 60 " + character * 10_000,
        verdicts=verdicts,
        workloads=tuple(replace(base.workloads[0], id=v.workload) for v in verdicts[::4]),
        failures=tuple(
            replace(failures[0], workload=f"{n}{character * 200}", log_tail=character * 50_000)
            for n in range(40)
        ),
        explanations=tuple(
            replace(
                rewrite(base.explanations[0], lambda text: text + character * 100), workload=f"{n}"
            )
            for n in range(30)
        ),
        change_prices=base.change_prices * 40,
        unit_costs=base.unit_costs * 40,
        new_workloads=tuple(f"{n}{character * 100}" for n in range(500)),
        notes=(character * 5000,) * 500,
        machine=rewrite(base.machine, lambda text: text + character * 5000),
    )

    text = say(giant, url=URL)

    assert len(text) <= len(text.encode("utf-8")) <= limit
    assert "Left out to keep this comment short: " in text
    assert f"]({URL})" in text
    assert "Performance regressed" in text.splitlines()[text.startswith(MARKER)]


def test_a_comment_that_is_a_little_too_long_loses_its_logs_first(reports):
    report = reports["not_measured"]
    loud = "".join(f"line {n} {'x' * 90}\n" for n in range(30))
    failures = tuple(
        replace(report.failures[0], workload=f"w{n}", log_tail=f"{n}\n{loud}") for n in range(300)
    )

    text = comment(replace(report, failures=failures), url=URL)

    assert "292 of 300 logs" in text
    assert "results in full" not in text


def test_a_change_that_is_not_proven_only_could_cost(reports, make):
    report = reports["regressed"]
    unsure = make.verdict(make.GPT, make.STEP_TIME, Outcome.UNDECIDED, (0.012, 0.0125))

    text = comment(replace(report, verdicts=(unsure,), change_prices=report.change_prices[:1]))

    assert "Could cost 25,000" in text.replace("\u00a0", " ")


def test_a_cause_says_why_and_what_a_step_takes_without_it(reports, make):
    report = reports["regressed"]
    explanation = replace(report.explanations[0], causes=(make.cast_to_double(),))

    text = comment(replace(report, explanations=(explanation,))).replace("\u00a0", " ")

    assert "| 1 | `aten::mm` | **+2.00 ms** | +16.2 % | slower |" in text
    assert (
        "1. `aten::mm` in `aten::linear`: calls are slower, 2.00 ms → 4.00 ms a step. "
        "A different type: `float[64,64]` became `double[64,64]`. Without it" in text
    )
