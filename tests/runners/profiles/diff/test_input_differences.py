import pytest

from perfledger_profiles.diff.cause import ChangeReason
from perfledger_profiles.diff.input_differences import InputChange, element_count, input_change
from perfledger_profiles.diff.operation_change import OperationChange


@pytest.fixture
def change_of(make):
    def build(base, head):
        return OperationChange(
            base=tuple(make.operation("mm", seconds, shapes=text) for text, seconds in base),
            head=tuple(make.operation("mm", seconds, shapes=text) for text, seconds in head),
        )

    return build


@pytest.mark.parametrize(
    ("base", "head", "expected"),
    [
        (
            "float[64,64]",
            "double[64,64]",
            InputChange(
                ChangeReason.TYPE, "float[64,64] became double[64,64]", "float became double"
            ),
        ),
        (
            "float[8,64]",
            "float[16,64]",
            InputChange(ChangeReason.SHAPE, "float[8,64] became float[16,64]", "8 became 16"),
        ),
        (
            "float[8,64] float[64]",
            "float[16,64] double[64]",
            InputChange(ChangeReason.TYPE, "float[64] became double[64]", "float became double"),
        ),
        (
            "float[64]",
            "float[64,1]",
            InputChange(ChangeReason.SHAPE, "float[64] became float[64,1]", ""),
        ),
        ("?", "float[1]", InputChange(ChangeReason.SHAPE, "? became float[1]", "")),
    ],
)
def test_the_first_difference_is_named_types_before_sizes(change_of, base, head, expected):
    assert input_change(change_of([(base, 1.0)], [(head, 1.0)])) == expected


def test_the_longest_operations_that_differ_are_compared(change_of):
    change = change_of(
        [("float[1]", 9.0), ("float[2]", 1.0), ("float[4]", 2.0)],
        [("float[1]", 9.0), ("float[8]", 2.0), ("float[3]", 1.0)],
    )

    assert input_change(change).evidence == "float[4] became float[8]"


@pytest.mark.parametrize(
    ("base", "head"), [("", ""), ("float[1]", "float[1]"), ("", "float[1]"), ("float[1]", "")]
)
def test_equal_or_unrecorded_inputs_are_no_difference(change_of, base, head):
    assert input_change(change_of([(base, 1.0)], [(head, 1.0)])) is None


def test_the_elements_of_all_inputs_of_all_calls_are_counted(make):
    twice = make.operation("add", 1e-3, 2.0, shapes="float[4,8] Half[8]")
    once = make.operation("_foreach_add", 1e-3, shapes="TensorList[[3],[2,2]]")

    assert element_count([twice, once]) == 2 * (32 + 8) + 3 + 4
