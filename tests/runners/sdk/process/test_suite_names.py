import pytest
from hypothesis import given, strategies as st

from perfledger.process.suite_names import file_of_test, short_id, tags_of, workload_id
from perfledger.registration.argument_faults import MAX_ID_LENGTH, MAX_TAGS


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


def test_a_test_with_long_parameters_has_an_id_of_its_own_that_fits():
    one, other = (workload_id(f"test_a.py::test_it[{'x' * 400}-{text}]") for text in "ab")

    assert one != other
    assert {len(one), len(other)} == {MAX_ID_LENGTH}
    assert one.startswith("test_a:test_it[x")
    assert one.endswith("]")


def test_marks_that_say_what_a_test_is_are_its_tags():
    assert tags_of(["slow", "parametrize", "skipif", "slow", "benchmark", "x" * 41, "gpu"]) == (
        "slow",
        "gpu",
    )
    assert len(tags_of(map(str, range(MAX_TAGS + 5)))) == MAX_TAGS


def test_an_id_that_fits_stays_as_it_is():
    assert short_id("m:f[" + "x" * 290 + "]") == "m:f[" + "x" * 290 + "]"


@given(st.text("ab]", min_size=MAX_ID_LENGTH, max_size=MAX_ID_LENGTH + 20), st.text("ab]"))
def test_different_ids_stay_different_and_fit(one, end):
    other = one + end

    assert (short_id(one) == short_id(other)) == (one == other)
    assert len(short_id(other)) <= MAX_ID_LENGTH
    assert short_id(other).endswith("]") == other.endswith("]")
