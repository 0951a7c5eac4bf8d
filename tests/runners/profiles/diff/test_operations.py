import pytest

from perfledger.profile import Bucket
from perfledger_profiles.diff.operations import MAX_COMPARED, operations_of
from perfledger_profiles.timeline.breakdown import OTHER_OPERATIONS, OUTSIDE_OPERATIONS


def test_the_time_outside_is_counted_by_the_calls_that_python_makes(make):
    profile = make.profile(
        make.operation("aten::linear", 1.0, 4.0),
        make.operation("aten::addmm", 1.0, 4.0, path="aten::linear"),
        make.operation("aten::tanh", 1.0, 2.0),
        make.operation(OTHER_OPERATIONS, 1.0, 99.0),
        make.operation(OUTSIDE_OPERATIONS, 1.0, 0.0, bucket=Bucket.OTHER),
    )

    assert operations_of(profile)[-1].count == 6.0
    assert operations_of(profile)[:-1] == profile.operations[:-1]


def test_of_very_many_operations_the_longest_are_compared_and_no_time_is_lost(make):
    many = [make.operation(f"op{n}", 1.0 + n) for n in range(MAX_COMPARED + 10)]

    work = operations_of(make.profile(*many))

    assert len(work) == MAX_COMPARED + 1
    assert (work[0].name, work[-1].name) == (f"op{MAX_COMPARED + 9}", "op10")
    assert [one.seconds for one in work if one.name == OTHER_OPERATIONS] == [
        pytest.approx(sum(range(11)))
    ]
    assert sum(one.seconds for one in work) == pytest.approx(sum(one.seconds for one in many))
    assert sum(one.count for one in work) == len(many)
