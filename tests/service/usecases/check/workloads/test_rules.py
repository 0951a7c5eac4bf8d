from perfledger.records import WorkloadSpec
from perfledger_runners.measuring.discovery import Discovery
from perfledger_service.usecases.check.workloads.rules import workload_rules


def spec(**changes):
    return WorkloadSpec(id="bench.a:step", module="bench.a", function="step", **changes)


def rules(base, head, margin=0.01):
    return workload_rules(Discovery(workloads=(base,)), (head,), margin=margin)


def test_a_workload_without_rules_of_its_own_is_judged_as_configured():
    found_workload_rules = rules(spec(), spec())

    assert (
        found_workload_rules.margins,
        found_workload_rules.metrics,
        found_workload_rules.notes,
    ) == ({}, {}, ())


def test_a_margin_of_both_sides_is_the_workloads_own():
    found_workload_rules = rules(spec(margin=0.05), spec(margin=0.05))

    assert (found_workload_rules.margins, found_workload_rules.notes) == (
        {"bench.a:step": 0.05},
        (),
    )


def test_a_head_that_loosens_its_margin_is_judged_by_that_of_base():
    found_workload_rules = rules(spec(margin=0.02), spec(margin=0.2))

    assert found_workload_rules.margins == {"bench.a:step": 0.02}
    (note,) = found_workload_rules.notes
    assert note.replace("\N{NO-BREAK SPACE}", " ").endswith(
        "2 % on base and of 20 % on head: the smaller one, 2 %, was used"
    )


def test_a_head_that_sets_its_first_margin_cannot_exceed_the_configured_one():
    found_workload_rules = rules(spec(), spec(margin=0.2))

    assert found_workload_rules.margins == {}
    words = "1 % on base and of 20 % on head: the smaller one, 1 %"
    assert words in found_workload_rules.notes[0].replace("\N{NO-BREAK SPACE}", " ")


def test_a_head_may_tighten_its_margin():
    assert rules(spec(margin=0.05), spec(margin=0.004)).margins == {"bench.a:step": 0.004}


def test_a_head_that_drops_its_large_margin_is_judged_by_the_configured_one():
    assert rules(spec(margin=0.05), spec()).margins == {}


def test_the_metrics_of_both_sides_judge():
    found_workload_rules = rules(spec(metrics=("step_time_p50",)), spec(metrics=("peak_memory",)))

    assert found_workload_rules.metrics == {"bench.a:step": ("step_time_p50", "peak_memory")}
    (note,) = found_workload_rules.notes
    assert note.endswith(
        "step_time_p50 on base and by peak_memory on head: the metrics of both were used"
    )


def test_a_head_that_chooses_its_first_metrics_is_judged_by_all():
    found_workload_rules = rules(spec(), spec(metrics=("peak_memory",)))

    assert found_workload_rules.metrics == {}
    assert "by all metrics on base and by peak_memory on head" in found_workload_rules.notes[0]


def test_metrics_in_another_order_are_the_same():
    names = ("peak_memory", "cpu_time")

    assert rules(spec(metrics=names), spec(metrics=names[::-1])).notes == ()
