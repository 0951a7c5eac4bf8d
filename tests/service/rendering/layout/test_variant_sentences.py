"""Sentences on variants: which is fastest, whether that changed, what else is known."""

import math
from dataclasses import replace

import pytest

from perfledger.records import Side
from perfledger.step_work import NOT_COUNTED, CountedWork, StepWork
from perfledger_baselines.judging.variant_ranking import (
    SideRanking,
    VariantComparison,
    VariantRanking,
)
from perfledger_service.rendering.layout.variant_sentences import (
    NOT_COMPARED,
    ranking_sentences,
    remark_sentences,
)


def comparison(variant, low=0.18, high=0.22):
    change = (low + high) / 2 if math.isfinite(high) else 0.2
    return VariantComparison(variant=variant, change=change, low=low, high=high, pairs=8)


def side(first, *others):
    return SideRanking(first=first, comparisons=others, floor=0.003)


def sentence(base, head, **values):
    ranking = VariantRanking(workload="m:f", base=base, head=head, **values)
    return next(ranking_sentences([ranking])).replace("\u00a0", " ")


def test_a_change_says_which_was_and_which_is_the_fastest_with_intervals():
    text = sentence(side("compile", comparison("eager")), side("eager", comparison("compile")))

    assert text == (
        "m:f: compile was the fastest variant (eager takes +20.0 % time (+18.0 to +22.0)), and now "
        "eager is (compile takes +20.0 % time (+18.0 to +22.0))"
    )


def test_the_same_fastest_is_said_once():
    text = sentence(*[side("compile", comparison("eager"))] * 2)

    assert text.startswith("m:f: compile is the fastest variant, as on base (eager takes +20.0 % ")


def test_a_large_difference_is_a_factor():
    text = sentence(*[side("jit", comparison("eager", 6.0, 10.0))] * 2)

    assert text.endswith("(eager takes 9.0 times the time (7.0 times to 11 times))")


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [
        (0.9, 1.1, "2.0 times the time (1.9 times to 2.1 times)"),
        (0.8, 1.1, "+95 % time (+80 to +110)"),
    ],
)
def test_twice_the_time_is_a_factor_and_less_is_a_percentage(low, high, words):
    text = sentence(*[side("jit", comparison("eager", low, high))] * 2)

    assert text.endswith(f"(eager takes {words})")


def test_what_cannot_be_told_apart_is_named():
    unsure = side("eager", comparison("compile", -0.01, 0.03), comparison("cudagraphs"))

    text = sentence(side("compile", comparison("eager")), unsure)

    assert text.startswith("m:f: compile is the fastest variant on base (")
    assert text.endswith("; on head, eager and compile cannot be told apart")


def test_too_few_pairs_are_no_order():
    few = side("eager", comparison("compile", -math.inf, math.inf))

    assert "cannot be told apart" in sentence(few, few)


def test_what_was_not_to_be_measured_says_why():
    text = sentence(None, None, left_out={"eager": "same code", "compile": "new"})

    assert text == (
        "m:f: which variant is fastest is unknown; left out: eager (same code), compile (new)"
    )


@pytest.mark.parametrize(
    ("base", "head", "what"),
    [
        (None, None, "which variant is fastest is unknown"),
        (None, side("jit", comparison("eager")), "jit is the fastest variant on head ("),
        (side("jit", comparison("eager")), None, "jit is the fastest variant on base ("),
    ],
)
def test_a_side_that_is_not_known_is_left_out(base, head, what):
    text = sentence(base, head, unmeasured=("cudagraphs",))

    assert text.startswith(f"m:f: {what}")
    assert text.endswith("; not measured: cudagraphs")


def remarks(make_bundle, **works):
    bundle = make_bundle(workloads=("m:f", "m:f[variant=compile]"))
    specs = tuple(
        replace(each, variant="compile" if "variant" in each.id else "")
        for each in bundle.workloads
    )
    work = tuple(
        CountedWork(workload="m:f[variant=compile]", side=Side(name), work=each)
        for name, each in works.items()
    )
    return list(remark_sentences(replace(bundle, workloads=specs, work=work)))


def test_a_remark_of_both_sides_is_said_once(make_bundle):
    work = StepWork(variant_remarks=("compiled in 2 parts",))

    assert remarks(make_bundle, base=work, head=work) == [
        "m:f[variant=compile]: compiled in 2 parts"
    ]


def test_a_remark_of_one_side_names_it(make_bundle):
    work = StepWork(variant_remarks=("its result differs",))

    assert remarks(make_bundle, base=StepWork(), head=work) == [
        "m:f[variant=compile] on head: its result differs"
    ]


def test_a_result_that_was_not_compared_is_never_taken_for_equal(make_bundle):
    cut = StepWork(limits=(f"{NOT_COUNTED}: hung: after 120 s",))

    expected = f"m:f[variant=compile]: {NOT_COMPARED}"
    assert remarks(make_bundle) == [expected]
    assert remarks(make_bundle, base=cut, head=cut) == [
        f"{expected} (not counted: hung: after 120 s)"
    ]


def test_a_variant_without_remarks_is_not_mentioned(make_bundle):
    assert remarks(make_bundle, base=StepWork(), head=StepWork()) == []
