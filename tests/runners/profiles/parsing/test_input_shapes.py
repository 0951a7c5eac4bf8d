import pytest

from perfledger_profiles.parsing.input_shapes import MAX_SHAPES, shapes_of


def shapes(dims, types=""):
    return shapes_of(dims.encode(), types.encode())


def test_only_inputs_with_a_shape_are_kept():
    assert shapes("[[8, 3], [], [64]]", '["float", "Scalar", "c10::BFloat16"]') == (
        "float[8,3] BFloat16[64]"
    )


def test_a_list_of_tensors_keeps_its_shapes():
    assert shapes("[[[2, 3], [4]]]", '["TensorList"]') == "TensorList[[2,3],[4]]"


def test_shapes_without_types_are_shapes():
    assert shapes("[[2, 3]]") == "[2,3]"


@pytest.mark.parametrize("dims", ["", "{}", "7", "null", "[", '"x"'])
def test_what_is_not_a_list_is_no_shape(dims):
    assert shapes(dims) == ""


@pytest.mark.parametrize("types", ["{}", "[1, 2]", "["])
def test_types_that_are_not_names_spoil_the_shapes(types):
    assert shapes("[[2, 3]]", types) == ""


def test_bad_utf8_in_types_spoils_the_shapes_and_in_sizes_a_character():
    assert shapes_of(b"[[2, 3]]", b'["fl\xffoat"]') == ""
    assert shapes_of(b'[["\xff"]]', b"") == '["\ufffd"]'


def test_the_line_is_cut():
    assert len(shapes("[" + ",".join(["[1]"] * 500) + "]")) == MAX_SHAPES
