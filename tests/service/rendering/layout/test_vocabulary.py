from dataclasses import replace

import pytest

from perfledger import step_work
from perfledger.metrics import CPU_TIME, METRICS, OPTIONAL_METRICS, STEP_TIME, STEP_TIME_P95
from perfledger.profile import Bucket
from perfledger.records import FailureReason
from perfledger_baselines.judging.explanation import DecidedBy, VerdictExplanation
from perfledger_baselines.judging.verdict import Outcome
from perfledger_cost_models.change_price.cost_policy import PolicyEvaluation, PolicyOutcome
from perfledger_cost_models.quote import Provenance
from perfledger_profiles.bottleneck.classification import Bottleneck
from perfledger_profiles.diff.cause import ChangeKind, ChangeReason
from perfledger_service.rendering.layout import vocabulary
from perfledger_service.values.report import Conclusion

EVERY_METRIC = METRICS | OPTIONAL_METRICS


@pytest.mark.parametrize("metric", EVERY_METRIC.values(), ids=EVERY_METRIC)
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
    assert len({vocabulary.provenance(known_provenance) for known_provenance in Provenance}) == len(
        Provenance
    )


@pytest.mark.parametrize(
    ("how", "seconds", "counts", "expected"),
    [
        (ChangeKind.RATE, (1.0, 2.0), (3.0, 3.0), "calls are slower"),
        (ChangeKind.RATE, (2.0, 1.0), (3.0, 3.0), "calls are faster"),
        (ChangeKind.RATE, (1.0, 2.0), (3.0, 4.0), "calls are slower: 4 a step, 3 before"),
        (ChangeKind.RATE, (1.0, 2.0), (0.0, 0.0), "takes longer"),
        (ChangeKind.COUNT, (1.0, 2.0), (24.0, 60.5), "60.50 calls a step, 24 before"),
        (ChangeKind.NEW, (0.0, 1.0), (0.0, 1.0), "new, 1 call a step"),
        (ChangeKind.GONE, (1.0, 0.0), (2.0, 0.0), "removed, 2 calls a step before"),
        (ChangeKind.REPLACED, (1.0, 2.0), (1.0, 1.0), "replaces"),
    ],
)
def test_how_an_operation_changed(make, how, seconds, counts, expected):
    assert vocabulary.change_phrase(make.cause("op", how, seconds, counts)) == expected


@pytest.mark.parametrize(
    ("how", "seconds", "counts", "expected"),
    [
        (ChangeKind.RATE, (1.0, 1.001), (3.0, 3.0), "slower"),
        (ChangeKind.RATE, (1.0, 0.999), (3.0, 3.0), "faster"),
        (ChangeKind.COUNT, (1.0, 1.5), (24.0, 24.5), "more calls"),
        (ChangeKind.COUNT, (1.0, 0.5), (24.5, 24.0), "fewer calls"),
        (ChangeKind.NEW, (0.0, 1.0), (0.0, 1.0), "new"),
        (ChangeKind.GONE, (1.0, 0.0), (1.0, 0.0), "gone"),
    ],
)
def test_in_a_narrow_column_a_change_is_a_word_or_two(make, how, seconds, counts, expected):
    cause = make.cause("op", how, seconds, counts)

    assert vocabulary.change_kind_phrase(cause) == expected


@pytest.mark.parametrize(("head_s", "phrase"), [(2.0, "takes longer"), (0.5, "takes less time")])
@pytest.mark.parametrize("kind", [ChangeKind.RATE, ChangeKind.COUNT])
def test_time_outside_operations_has_no_calls(make, kind, head_s, phrase):
    cause = make.cause("(outside operations)", kind, (1.0, head_s), (64.0, 60.0))

    assert vocabulary.change_phrase(cause) == phrase


@pytest.mark.parametrize("seconds", [(1.0, 1.001), (1.0, 0.999)])
def test_the_least_change_of_a_call_has_its_direction(make, seconds):
    cause = make.cause("op", ChangeKind.RATE, seconds, (3.0, 3.0))

    pace = "slower" if seconds[1] > seconds[0] else "faster"
    assert vocabulary.change_phrase(cause) == f"calls are {pace}"


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [(812.0, "1", "812"), (1184.0, "1", "1,184"), (4.2e6, "FLOP", "4.20\xa0MFLOP")],
)
def test_counts_are_numbers_and_no_shares(value, unit, text):
    assert vocabulary.count_with_unit(value, unit) == text


def test_every_count_has_its_words():
    names = {value for name, value in vars(step_work).items() if name.isupper()}
    names -= {step_work.NOT_COUNTED}  # begins the limit of a step without counts

    assert names
    assert all(vocabulary.count_label(name) != name for name in names)


def test_a_metric_and_a_count_of_others_have_no_words_of_ours():
    assert vocabulary.metric_label("loss") is None
    assert vocabulary.count_label("loss_per_step") == "loss_per_step"


@pytest.mark.parametrize(
    ("value", "unit", "text", "beside"),
    [
        (0.0123, "s", "12.3\xa0ms", ""),
        (1.5e9, "B", "1.40\xa0GiB", ""),
        (0.912, "1", "91.2\xa0%", ""),
        (412.0, "J", "412\xa0J", ""),
        (1234.5, "<b>", "1,234", "<b>"),
        (3.0, "", "3", ""),
    ],
)
def test_a_figure_carries_its_unit_where_it_is_one_of_ours(value, unit, text, beside):
    assert vocabulary.value(value, unit) == text
    assert vocabulary.foreign_unit(unit) == beside


@pytest.mark.parametrize("bucket", list(Bucket))
def test_a_part_of_a_step_fits_the_first_column_of_a_terminal(bucket):
    assert 0 < len(vocabulary.bucket(bucket)) <= 14


def test_every_bottleneck_has_words_of_its_own():
    assert len({vocabulary.bottleneck(each) for each in Bottleneck}) == len(Bottleneck)


@pytest.mark.parametrize("reason", list(ChangeReason))
def test_every_reason_of_a_change_has_its_words_and_an_unknown_one_has_none(make, reason):
    cause = make.cause("op", ChangeKind.RATE, (1.0, 2.0), (1.0, 1.0), reason=reason)

    assert (vocabulary.change_reason_phrase(cause) == "") is (reason is ChangeReason.UNKNOWN)


@pytest.mark.parametrize(
    ("count", "phrase"),
    [(1.0, "1 call"), (24.0, "24 calls"), (60.5, "60.50 calls")],
)
def test_calls_are_counted(count, phrase):
    assert vocabulary.call_count_phrase(count) == phrase


def test_what_softens_a_verdict_follows_its_word(make):
    regressed = make.verdict(make.GPT, make.SM_ACTIVE, Outcome.REGRESSED, (0.9, 0.8))
    warned = replace(regressed, outcome=Outcome.UNCHANGED, is_warning=True)

    assert vocabulary.verdict_words(regressed) == "regressed"
    assert vocabulary.verdict_words(regressed, has_traded=True) == "regressed, for speed"
    assert vocabulary.verdict_words(warned) == "unchanged, warning"


def test_what_would_settle_a_result_and_its_time_are_said():
    needed = VerdictExplanation(
        decided_by=DecidedBy.NOISE, pairs_needed=198, expected_outcome=Outcome.UNCHANGED
    )
    few = VerdictExplanation(decided_by=DecidedBy.TOO_FEW_PAIRS, pairs_needed=4)

    def advice(explanation, pairs=18, seconds_per_pair=None):
        return vocabulary.undecided_advice(
            explanation, pairs=pairs, seconds_per_pair=seconds_per_pair
        )

    assert advice(needed) == "; about 198 pairs would settle it"
    assert advice(needed, seconds_per_pair=2.0).endswith("settle it, 6 min more")
    assert advice(needed, pairs=198, seconds_per_pair=2.0) == advice(needed)
    assert advice(few) == ""  # the reason says how many are needed
    assert advice(few, pairs=3, seconds_per_pair=90.0) == "; 1 pair more takes 1.5 min"
    assert advice(few, pairs=2, seconds_per_pair=90.0) == "; 2 pairs more take 3 min"
    futile = replace(needed, pairs_needed=None)
    impractical = "; no practical number of pairs like these would settle it"
    assert advice(futile) == advice(futile, seconds_per_pair=36.0) == impractical
    assert advice(needed, seconds_per_pair=20.0) == "; about 198 pairs would settle it, 1 h more"
    assert advice(needed, seconds_per_pair=20.1) == impractical
    assert advice(replace(needed, decided_by=DecidedBy.EQUIVALENCE)) == ""
    assert advice(replace(futile, decided_by=DecidedBy.KERNEL_WINDOWS)) == ""
    assert advice(replace(futile, decided_by=DecidedBy.LOAD)) == ""
    assert advice(replace(few, pairs_needed=None)) == ""


@pytest.mark.parametrize(
    ("head", "change", "basis"),
    [
        (1.05, 0.05, ""),
        (1.0504, 0.05, ""),
        (1.051, 0.05, ""),
        (1.06, 0.05, "mean of the pairs"),
        (0.93, 0.01, "mean of the pairs"),
        (1.0104, 0.01, ""),
        (1.0106, 0.01, "mean of the pairs"),
        (float("nan"), 0.01, ""),
    ],
)
def test_a_change_that_the_figures_do_not_have_says_what_it_is_of(make, head, change, basis):
    verdict = make.verdict(make.GPT, make.STEP_TIME, Outcome.UNDECIDED, (1.0, 1.0))
    estimate = replace(verdict.estimate, head=head, change=change)

    assert vocabulary.change_basis(replace(verdict, estimate=estimate)) == basis


@pytest.mark.parametrize(
    ("metric", "basis"),
    [
        (STEP_TIME, "without waits for a core"),
        (STEP_TIME_P95, "with waits for a core"),
        (CPU_TIME, ""),
    ],
)
def test_figures_of_a_busy_machine_say_whether_they_have_the_waits(make, metric, basis):
    verdict = make.verdict(make.GPT, metric, Outcome.REGRESSED, (1.0, 1.1))

    assert vocabulary.change_basis(replace(verdict, queued_share=0.3)) == basis
    assert vocabulary.change_basis(verdict) == ""
    assert vocabulary.change_basis(replace(verdict, queued_share=0.3, estimate=None)) == ""


@pytest.mark.parametrize(
    ("name", "outcome"),
    [
        ("regressed", Outcome.REGRESSED),
        ("unchanged", Outcome.IMPROVED),
        ("not_measured", Outcome.NOT_MEASURED),
        ("undecided", Outcome.UNDECIDED),
    ],
)
def test_the_headline_has_the_colour_of_the_whole_check(reports, name, outcome):
    assert vocabulary.conclusion_mark(reports[name]) == vocabulary.mark(outcome)


def test_a_failed_policy_is_red_and_a_warning_is_orange(reports):
    report = reports["unchanged"]
    policy = PolicyEvaluation(
        team="nlp", outcome=PolicyOutcome.FAILS, price=None, limit_usd=None, unpriced=()
    )
    failed = replace(report, conclusion=Conclusion.FAILURE, policy_evaluations=(policy,))
    warned = replace(report, verdicts=(replace(report.verdicts[0], is_warning=True),))

    assert vocabulary.conclusion_mark(failed) == vocabulary.mark(Outcome.REGRESSED)
    assert vocabulary.conclusion_mark(warned) == vocabulary.mark(Outcome.IMPROVED, is_warning=True)


def test_a_device_that_idles_because_the_step_became_faster_does_not_make_the_check_red(
    reports, make
):
    faster = make.verdict(make.GPT, make.STEP_TIME, Outcome.IMPROVED, (0.02, 0.01))
    idler = make.verdict(make.GPT, make.SM_ACTIVE, Outcome.REGRESSED, (0.9, 0.8))
    report = replace(reports["unchanged"], conclusion=Conclusion.FAILURE, verdicts=(faster, idler))

    assert vocabulary.conclusion_mark(report) == vocabulary.mark(Outcome.NOT_MEASURED)
    assert vocabulary.conclusion_mark(replace(report, verdicts=(idler,))) == vocabulary.mark(
        Outcome.REGRESSED
    )


@pytest.mark.parametrize(
    ("metric", "label"),
    [
        ("step_time_p50", "step time"),
        ("kernel:aten::mm", "kernel family aten::mm"),
        ("kernels", "kernels"),
        ("their_metric", "their_metric"),
    ],
)
def test_a_series_is_named_by_its_metric_or_its_kernel_family(metric, label):
    assert vocabulary.series_label(metric) == label
