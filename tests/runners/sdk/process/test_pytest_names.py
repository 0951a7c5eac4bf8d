import pytest

from perfledger.process.pytest_names import file_of_test, tags_of, workload_id
from perfledger.workload_faults import MAX_TAGS


@pytest.mark.parametrize(
    ("node_id", "workload"),
    [
        ("test_a.py::test_it", "test_a:test_it"),
        ("tests/bench/test_a.py::test_it[1-x]", "tests.bench.test_a:test_it[1-x]"),
        ("tests/test_a.py::TestB::TestC::test_it", "tests.test_a:TestB.TestC.test_it"),
        ("test_a.py::test_it[a::b]", "test_a:test_it[a::b]"),
        ("test_a.py::test_it[`rm`\n]", "test_a:test_it[_rm__]"),
    ],
)
def test_a_test_is_named_by_its_file_class_and_parameters(node_id, workload):
    assert workload_id(node_id) == workload
    assert file_of_test(workload) == node_id.partition("::")[0]


def test_marks_that_say_what_a_test_is_are_its_tags():
    assert tags_of(["slow", "parametrize", "slow", "benchmark", "x" * 41, "gpu"]) == ("slow", "gpu")
    assert len(tags_of(map(str, range(MAX_TAGS + 5)))) == MAX_TAGS
