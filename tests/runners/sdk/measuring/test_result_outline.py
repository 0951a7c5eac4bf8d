import math

import pytest

from perfledger.measuring.result_outline import MAX_PARTS, result_outline


class Fails:
    @property
    def dtype(self):
        raise RuntimeError


@pytest.mark.parametrize(
    ("result", "outline"),
    [
        (3, (1, 3.0, 3.0, "int")),
        ([1, -2, 4], (3, -2.0, 4.0, "list")),
        ({"loss": 0.5, "name": "a"}, (1, 0.5, 0.5, "dict")),
        ((1.5, [2, 3]), (3, 1.5, 3.0, "float, list")),
        ([[1]] * (MAX_PARTS + 5), (MAX_PARTS, 1.0, 1.0, "list")),
    ],
)
def test_an_outline_has_the_numbers_of_a_result_and_their_bounds(result, outline):
    names = ("numbers", "smallest", "largest", "types")

    assert result_outline(result) == dict(zip(names, outline, strict=True))


@pytest.mark.parametrize(
    "result", [None, "text", [], math.nan, [1.0, math.inf], 10**400, [10**400], Fails()]
)
def test_without_finite_numbers_there_is_no_outline(result):
    assert result_outline(result) == {}


def test_the_type_of_an_array_is_that_of_its_numbers():
    numpy = pytest.importorskip("numpy")

    outline = result_outline(numpy.ones((3, 4), dtype="float32"))
    assert outline == {"numbers": 12, "smallest": 1.0, "largest": 1.0, "types": "float32"}
