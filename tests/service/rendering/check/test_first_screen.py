from dataclasses import replace
from decimal import Decimal

import pytest

from perfledger.compile_record import CompilationKind
from perfledger.metrics import COLD_START, COMPILE_TIME, KERNELS, PEAK_MEMORY, STEP_TIME
from perfledger.profile import CallingLine
from perfledger_baselines.judging.verdict import Outcome
from perfledger_cost_models.quote import SummedPrice
from perfledger_profiles.diff.cause import MemoryCause, MemoryExplanation
from perfledger_service.rendering.check.comment import comment
from perfledger_service.rendering.check.first_screen import first_screen
from perfledger_service.rendering.check.headline import headline
from perfledger_service.rendering.check.terminal import report_table
from perfledger_service.rendering.layout.provenance_facts import decision_sentences
from perfledger_service.rendering.layout.verdict_rows import verdict_rows
from tests.service.rendering.example_evidence import compile_explanation
from tests.service.rendering.terminal_lines import lines_at

CHECK_OF_GPT = (
    "perfledger check --base 8c1f0a2b3c4d --head d41e7b9a0c2f "
    "--workload 'benchmarks.gpt:train_step[batch=8]'"
)


def plain_text(text):
    return text.replace("\N{NO-BREAK SPACE}", " ")


def screen_of(report):
    return first_screen(report, verdict_rows(report))


def test_the_why_is_the_first_cause_with_the_rest_of_the_change(reports):
    screen = screen_of(reports["regressed"])

    assert plain_text(screen.why) == (
        "aten::_softmax +1.72 ms a step: replaces aten::_scaled_dot_product_flash_attention "
        "(+560 µs elsewhere). Fused or split: fused attention became matmul and softmax"
    )


def test_lines_of_code_are_named_once_and_say_if_the_change_has_them(reports):
    report = reports["regressed"]
    explanation = report.explanations[0]
    line = CallingLine(path="model.py", line=41, calls=12.0, is_changed=True)
    causes = tuple(replace(one, lines=(line,)) for one in explanation.causes)
    report = replace(report, explanations=(replace(explanation, causes=causes),))

    (shown_line,) = screen_of(report).where

    assert (shown_line.text, shown_line.remark) == ("model.py:41", "changed on head")
    assert "**Where** `model.py:41` (changed on head)" in comment(report)


@pytest.mark.parametrize(
    ("is_attributable", "why", "lines"),
    [
        (True, "aten::mm +380 MiB at the peak: float32[64,1024]", ["model.py:41"]),
        (False, "no tensor accounts for it: the allocator caches", []),
    ],
)
def test_more_memory_is_explained_by_what_the_peak_holds(reports, is_attributable, why, lines):
    line = CallingLine(path="model.py", line=41, calls=12.0)
    causes = (
        MemoryCause(
            name="aten::mm",
            base_tensor="",
            head_tensor="float32[64,1024]",
            base_bytes=0.0,
            head_bytes=380 * 2**20,
            base_count=0,
            head_count=1,
            lines=(line,),
        ),
    )
    memory = MemoryExplanation(
        base_bytes=1.52e9,
        head_bytes=1.93e9,
        base_held_bytes=1e9,
        head_held_bytes=1.4e9,
        causes=causes,
        rest_bytes=0.0,
        is_attributable=is_attributable,
        note="" if is_attributable else "the allocator caches",
    )
    explanation = replace(reports["regressed"].explanations[0], memory=memory)
    report = replace(reports["more_memory"], explanations=(explanation,))

    screen = screen_of(report)

    assert plain_text(screen.why) == why
    assert [one.text for one in screen.where] == lines
    assert screen.actions == (f"repeat it on such a machine: {CHECK_OF_GPT}",)


def test_a_source_line_is_shown_as_the_first_cause_has_it(reports):
    report = reports["regressed"]
    explanation = report.explanations[0]
    line = CallingLine(path="model.py", line=41, calls=12.0, is_changed=True)
    first, *others = explanation.causes
    causes = (
        replace(first, lines=(line,)),
        *(replace(one, lines=(replace(line, is_backward=True),)) for one in others),
    )
    report = replace(report, explanations=(replace(explanation, causes=causes),))

    (shown_line,) = screen_of(report).where

    assert shown_line.remark == "changed on head"


def test_another_metric_does_not_get_the_causes_of_the_step_time(reports, make):
    verdict = make.verdict(make.GPT, COLD_START, Outcome.REGRESSED, (1.0, 2.0))
    screen = screen_of(replace(reports["regressed"], verdicts=(verdict,)))

    assert (screen.why, screen.where) == ("", ())
    assert screen.actions == (f"repeat it on such a machine: {CHECK_OF_GPT}",)


def test_a_slower_start_has_what_is_compiled_as_its_cause(reports, make):
    verdict = make.verdict(make.GPT, COMPILE_TIME, Outcome.REGRESSED, (1.375, 4.625))
    explanation = replace(reports["regressed"].explanations[0], compiling=compile_explanation())
    report = replace(reports["regressed"], verdicts=(verdict,), explanations=(explanation,))

    screen = screen_of(report)

    assert plain_text(screen.why) == (
        "backend compile +3.00 s: train_step is compiled 4 times instead of once: at x, now "
        "f32[33,128] and before f32[32,128]"
    )
    assert [one.text for one in screen.where] == ["models/gpt.py:90"]
    assert screen.actions == (f"repeat it on such a machine: {CHECK_OF_GPT}",)
    assert "at x, now f32[33,128] and before f32[32,128]" in screen.names


def test_a_start_whose_compiling_is_the_same_says_so(reports, make):
    verdict = make.verdict(make.GPT, COLD_START, Outcome.REGRESSED, (1.0, 2.0))
    same = replace(compile_explanation(), head_seconds=1.375, phases=(), causes=())
    explanation = replace(reports["regressed"].explanations[0], compiling=same)
    report = replace(reports["regressed"], verdicts=(verdict,), explanations=(explanation,))

    assert screen_of(report).why == "compile time is unchanged"


def test_a_changed_kernel_says_what_is_known_of_it(reports, make):
    reason = "layer_norm 6 % slower: 0.2 % of the step, after 12 pairs"
    verdict = make.verdict(make.GPT, KERNELS, Outcome.REGRESSED, None, reason=reason)
    report = replace(reports["regressed"], verdicts=(verdict,))

    assert screen_of(report).why == reason
    assert headline(report) == f"{make.GPT}: {reason}"


def test_the_cause_is_that_of_the_result_it_stands_for(reports, make):
    report = reports["regressed"]
    slower = make.verdict(make.RESNET, STEP_TIME, Outcome.REGRESSED, (0.1, 0.15))
    memory = make.verdict(make.GPT, PEAK_MEMORY, Outcome.REGRESSED, (1e9, 1.1e9))

    explanation = replace(report.explanations[0], memory=None)
    report = replace(report, verdicts=(slower, memory), explanations=(explanation,))

    assert screen_of(report).why == ""


def test_the_price_of_another_workload_than_the_headlines_has_its_name(reports, make):
    report = reports["not_measured"]
    price = replace(reports["regressed"].change_prices[0], workload=make.TRANSFORMER)
    faster = make.verdict(make.TRANSFORMER, STEP_TIME, Outcome.IMPROVED, (0.1, 0.09))
    report = replace(report, verdicts=(report.verdicts[0], faster), change_prices=(price,))

    assert screen_of(report).price.lead.startswith(f"{make.TRANSFORMER} costs")


def test_an_unattributable_change_says_so(reports):
    report = reports["cpu_only"]
    explanation = replace(report.explanations[0], compilations=())

    screen = screen_of(replace(report, explanations=(explanation,)))

    assert screen.why == "no operation accounts for it: the profiles differ too much"
    assert screen.where == ()


def test_what_a_compiler_says_of_head_is_named_if_no_operation_accounts_for_it(reports):
    screen = screen_of(reports["cpu_only"])

    assert screen.why.endswith(
        "differ too much. On head torch.compile breaks its graph, more often than on base: Dynamo "
        "does not know how to trace builtin operator `print`"
    )
    assert [line.text for line in screen.where] == ["models/gpt.py:90"]
    assert screen.actions[0].startswith("keep the compiled function in one graph")
    assert screen.actions[-1].startswith("repeat it on such a machine")  # it may not be the cause


def test_what_a_compiler_does_before_the_steps_is_no_reason_for_slower_ones(reports):
    report = reports["cpu_only"]
    (explanation,) = report.explanations
    rows = [
        replace(one, kind=CompilationKind.START_RETRACE, lines=explanation.compilations[0].lines)
        for one in explanation.compilations
    ]

    screen = screen_of(
        replace(report, explanations=(replace(explanation, compilations=tuple(rows)),))
    )

    assert screen.why == "no operation accounts for it: the profiles differ too much"
    assert screen.where == ()
    assert not any("static arguments" in action for action in screen.actions)


def test_a_compilers_sentence_is_quoted_without_its_period(reports):
    report = reports["cpu_only"]
    (explanation,) = report.explanations
    rows = tuple(replace(one, reason=f"{one.reason}.") for one in explanation.compilations)

    text = comment(replace(report, explanations=(replace(explanation, compilations=rows),)))

    assert "`` Dynamo does not know how to trace builtin operator `print` ``.\n" in text


def test_an_explanation_of_a_faster_step_is_no_reason_for_a_regression(reports, make):
    report = reports["regressed"]
    others = tuple(replace(one, workload=make.RESNET) for one in report.explanations)

    assert screen_of(replace(report, explanations=others)).why == ""


def test_what_would_settle_it_has_its_time_where_the_check_knows_it(reports):
    undecided = reports["undecided"]
    times = dict.fromkeys((each.workload for each in undecided.verdicts), 15.0)
    report = replace(undecided, pair_seconds=times)

    assert plain_text(screen_of(report).why) == (
        "too noisy to tell after 20 pairs; about 60 pairs would settle it, 10 min more"
    )


def test_a_failure_is_quoted_and_never_taken_for_a_sentence(reports):
    screen = screen_of(reports["not_measured"])

    assert screen.why == ""
    assert screen.failure.startswith("RuntimeError: mat1")


@pytest.mark.parametrize(
    ("ends", "expected"),
    [
        ((22_000, 25_000, 28_000), ("Costs", "+25,000 USD a year")),
        ((-28_000, -25_000, -22_000), ("Saves", "25,000 USD a year")),
        ((-400, 151, 700), ("No detectable change in cost", "")),
    ],
)
def test_the_only_price_is_said_with_its_option(reports, ends, expected):
    report = reports["regressed"]
    low, usd, high = map(Decimal, ends)
    price = replace(
        report.change_prices[0], usd=usd, low=low, high=high, is_detectable=low * high > 0
    )

    fact = screen_of(replace(report, change_prices=(price,))).price

    assert (plain_text(fact.lead), plain_text(fact.amount)) == expected
    assert "AWS p5.48xlarge, on demand" in fact.detail


def test_a_sum_of_several_prices_says_what_it_lacks(reports, make):
    report = reports["regressed"]
    total = SummedPrice(
        usd=Decimal(9000),
        low=Decimal(7500),
        high=Decimal(11_000),
        is_detectable=True,
        workloads=(make.GPT, make.RESNET),
        missing=(make.ATTENTION,),
    )

    fact = screen_of(replace(report, total_price=total)).price

    assert plain_text(fact.amount) == "+9,000 USD a year (7,500 to 11,000), 2 workloads"
    assert fact.detail == "1 without a price"


def test_without_a_fleet_nothing_is_said_of_money(reports):
    assert screen_of(replace(reports["regressed"], change_prices=())).price is None


def test_comment_and_terminal_say_the_same(reports):
    report = reports["regressed"]
    screen = screen_of(report)
    said_text = " ".join(lines_at(report_table(report), width=1000).split())
    posted = " ".join(comment(report).replace("`", "").replace("**", "").split())

    for text in (report.headline, screen.why, screen.counts, *screen.actions):
        words = " ".join(text[1:].rstrip(".").split())
        assert words in said_text
        assert words in posted


def test_advice_on_a_call_that_a_suggestion_names_is_not_said_again(reports, make):
    same = replace(
        make.ADVICE,
        text="call torch.nn.functional.scaled_dot_product_attention: it never writes the scores",
    )
    other = replace(make.ADVICE, text="call torch.compile: it fuses")
    report = reports["regressed"]
    advice = replace(report.advice[0], recommendations=(other, same))

    actions = screen_of(replace(report, advice=(advice,))).actions

    bound = "Estimate: 16 % less time (7.80 ms), if launches take no time."
    assert [plain_text(one) for one in actions] == [
        "the attention lost its fused path: call torch.nn.functional.scaled_dot_product_attention. "
        + bound,
        f"call torch.compile: it fuses. {bound}",
    ]


def test_a_check_of_new_workloads_alone_asks_for_nothing_and_states_no_rule(reports):
    report = reports["first_check"]

    assert screen_of(report).actions[0].startswith("nothing yet: changes that build on this one")
    assert decision_sentences(report) == ()
    assert screen_of(replace(report, new_workloads=())).actions == ()
