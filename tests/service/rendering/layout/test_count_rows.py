from dataclasses import replace

from perfledger_baselines.estimation.work_counts import CountChange, WorkComparison
from perfledger_service.rendering.layout import count_rows


def counted(reports, *changes):
    counts = tuple(
        CountChange(name="bytes_per_step", unit="B", base=base, head=head, source="a counter")
        for base, head in changes
    )
    work_comparison = WorkComparison(workload="m:f", counts=counts, limits=(), is_same_program=None)
    return replace(reports["unchanged"], work_counts=(work_comparison,))


def test_counts_that_differ_by_less_than_can_be_shown_are_on_the_page_only(reports):
    report = counted(reports, (1e6, 1e6 + 1), (1e6, 1.1e6), (0.0, 5.0), (7.0, 7.0))

    assert [row.change for row in count_rows.changed_counts(report)] == ["+10.0\xa0%", ""]
    (group,) = count_rows.count_groups(report)
    assert [row.has_changed for row in group.counts] == [True, True, True, False]


def test_an_incomplete_count_is_a_lower_bound_without_a_change(reports):
    count = CountChange(
        name="flops_per_step",
        unit="FLOP",
        base=604e6,
        head=470e6,
        source="a counter",
        head_is_complete=False,
    )
    work_comparison = WorkComparison(
        workload="m:f", counts=(count,), limits=(), is_same_program=None
    )

    (row,) = count_rows.changed_counts(
        replace(reports["unchanged"], work_counts=(work_comparison,))
    )

    assert (row.base, row.head) == ("604\xa0MFLOP", "at least 470\xa0MFLOP")
    assert row.change == "incomplete"


def test_workloads_with_changed_counts_come_first(reports):
    report = counted(reports, (1.0, 2.0))
    quiet = replace(report.work_counts[0], workload="a:quiet", counts=(), is_same_program=True)

    groups = count_rows.count_groups(replace(report, work_counts=(quiet, *report.work_counts)))

    assert [(group.workload, group.has_changed) for group in groups] == [
        ("m:f", True),
        ("a:quiet", False),
    ]
    assert groups[1].is_same_program


def test_a_change_of_a_count_is_shown_from_half_a_hundredth_of_a_per_cent_on(reports):
    report = counted(reports, (1e6, 1e6 + 51), (1e6, 1e6 - 49))

    assert [row.change for row in count_rows.changed_counts(report)] == ["+0.01\xa0%"]
