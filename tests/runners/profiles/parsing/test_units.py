import math

import pytest
from hypothesis import given, strategies as st

from perfledger_profiles.parsing.units import (
    UnitScale,
    count_of,
    decimal_mark,
    launch_shape,
    number_or_none,
    scale_of,
    title_and_unit,
)


@pytest.mark.parametrize(
    ("cell", "value"),
    [
        ("406240", 406240),
        (" 21.68 ", 21.68),
        ("1,234,567.5", 1234567.5),
        ("-12", -12),
        ("1.2e+07", 1.2e7),
        ("3995313115.40", 3995313115.4),
    ],
)
def test_a_number_is_read_with_its_separators(cell, value):
    assert number_or_none(cell) == value


@pytest.mark.parametrize(
    "cell",
    ["", "n/a", "N/A", "nan", "inf", "-inf", "1e999", "1_000", "1,2", "12,34,5", "0x10", "9" * 65],
)
def test_what_is_no_finite_number_is_none(cell):
    assert number_or_none(cell) is None


def test_a_comma_before_the_decimals_is_read_where_the_file_has_them():
    cells = ["27.595.520", "65,77", "n/a"]

    decimal = decimal_mark(cells)

    assert decimal == ","
    assert [number_or_none(cell, decimal=decimal) for cell in cells] == [27595520, 65.77, None]


@pytest.mark.parametrize("cells", [[], ["1,234"], ["406.240", "5"], ["n/a"], ["1,234,567.89"]])
def test_without_a_sign_of_another_locale_a_point_is_before_the_decimals(cells):
    assert decimal_mark(cells) == "."


@pytest.mark.parametrize(
    ("unit", "factor", "si"),
    [
        ("ns", 1e-9, "s"),
        ("nsecond", 1e-9, "s"),
        ("usecond", 1e-6, "s"),
        ("\u03bcs", 1e-6, "s"),
        ("ms", 1e-3, "s"),
        ("%", 0.01, "1"),
        ("", 1, "1"),
        ("Kbyte", 1e3, "B"),
        ("Mbyte/second", 1e6, "B/s"),
        ("MBps", 1e6, "B/s"),
        ("byte/block", 1, "B"),
        ("Kbyte/block", 1e3, "B"),
        ("MiB", 2**20, "B"),
        ("register/thread", 1, "1"),
        ("Ghz", 1e9, "Hz"),
        ("cycle/nsecond", 1e9, "Hz"),
        ("tokens/sec/user", 1, "1/s"),
        ("requests/sec", 1, "1/s"),
        ("per sec", 1, "1/s"),
        ("MJ", 1e6, "J"),
        ("mJ", 1e-3, "J"),
        ("J", 1, "J"),
        ("s", 1, "s"),
        ("GB", 1e9, "B"),
        ("TB", 1e12, "B"),
        ("KiB", 2**10, "B"),
        ("GiB", 2**30, "B"),
        ("B", 1, "B"),
        ("hz", 1, "Hz"),
        ("kHz", 1e3, "Hz"),
        ("MHz", 1e6, "Hz"),
        ("cycle", 1, "cycle"),
        ("W", 1, "W"),
        ("C", 1, "degC"),
    ],
)
def test_a_unit_becomes_an_si_unit(unit, factor, si):
    unit_scale = scale_of(unit)

    assert unit_scale is not None
    assert unit_scale.factor == pytest.approx(factor)
    assert unit_scale.unit == si


@pytest.mark.parametrize(
    ("factor", "si", "names"),
    [
        (1.0, "s", "s sec second seconds"),
        (1e-3, "s", "ms msec msecond millisecond milliseconds"),
        (1e-6, "s", "us usec usecond microsecond microseconds \u00b5s \u03bcs"),
        (1e-9, "s", "ns nsec nsecond nanosecond nanoseconds"),
        (1.0, "B", "B byte bytes"),
        (1e3, "B", "KB kB kbyte Kbyte"),
        (1e6, "B", "MB mbyte Mbyte"),
        (1e9, "B", "GB gbyte Gbyte"),
        (1e12, "B", "TB tbyte Tbyte"),
        (1024.0, "B", "KiB"),
        (1_048_576.0, "B", "MiB"),
        (1_073_741_824.0, "B", "GiB"),
        (1.0, "Hz", "Hz hz"),
        (1e3, "Hz", "Khz kHz"),
        (1e6, "Hz", "Mhz MHz"),
        (1e9, "Hz", "Ghz GHz"),
        (1.0, "J", "J"),
        (1.0, "W", "W w"),
        (1.0, "degC", "C c"),
        (1.0, "cycle", "cycle"),
        (1.0, "1", "1 count block blocks warp thread register sm inst req token pages images"),
    ],
)
def test_every_name_of_a_unit_has_its_factor(factor, si, names):
    unit_scales = {name: scale_of(name) for name in names.split()}

    assert unit_scales == dict.fromkeys(names.split(), UnitScale(factor, si))


@pytest.mark.parametrize(
    ("cell", "is_shape"), [("9" * 10, True), ("9" * 11, False)], ids=["ten digits", "eleven"]
)
def test_a_side_of_a_launch_has_at_most_ten_digits(cell, is_shape):
    assert launch_shape([cell, "1", "1"]) == (f"{cell},1,1" if is_shape else "")


@pytest.mark.parametrize(("length", "is_number"), [(64, True), (65, False)])
def test_a_number_has_at_most_64_characters(length, is_number):
    assert (number_or_none("0" * (length - 1) + "7") == 7) is is_number


@pytest.mark.parametrize(
    "unit", ["furlong", "byte/furlong", "ms/ms/ms/x", "%/s", "Gbit", "Mb/s", "Mbps"]
)
def test_a_unit_that_is_not_known_is_none(unit):
    assert scale_of(unit) is None


@pytest.mark.parametrize(
    ("cell", "count"), [("15", 15), ("1,000", 1000), ("1.5", None), ("-1", None), ("x", None)]
)
def test_a_count_is_whole_and_not_negative(cell, count):
    assert count_of(cell) == count


def test_a_launch_shape_is_three_numbers_or_nothing():
    assert launch_shape(["384", " 1", "1 "]) == "384,1,1"
    assert launch_shape(["384", "", "1"]) == ""
    assert launch_shape(["9" * 11, "1", "1"]) == ""


@given(st.text(max_size=80), st.sampled_from([".", ","]))
def test_any_text_is_a_finite_number_or_none(text, decimal):
    value = number_or_none(text, decimal=decimal)

    assert value is None or math.isfinite(value)


@given(st.text(max_size=40))
def test_any_text_is_a_unit_or_none(text):
    unit_scale = scale_of(text)

    assert unit_scale is None or unit_scale.factor > 0


@given(st.integers(min_value=-(10**15), max_value=10**15))
def test_a_number_with_separators_is_the_number(value):
    assert number_or_none(f"{value:,}") == value


@pytest.mark.parametrize(
    ("cell", "title", "unit"),
    [
        ("Total Time (ns)", "Total Time", "ns"),
        ("Time(%)", "Time", "%"),
        (" Name ", "Name", ""),
        ("Grid ()", "Grid", ""),
        ("", "", ""),
    ],
)
def test_a_columns_title_is_told_from_its_unit(cell, title, unit):
    assert title_and_unit(cell) == (title, unit)


@pytest.mark.parametrize("cell", ["a (b", "a) b", "a (b) c", "a (b))", "a ((b)", "(a) (b)"])
def test_other_brackets_are_no_unit(cell):
    assert title_and_unit(cell) is None


def test_a_title_of_nothing_but_space_is_told_at_once():
    assert title_and_unit("Reg" + " " * 2_000_000 + "Trd (") is None


@pytest.mark.parametrize(
    ("text", "scale"),
    [
        ("cycle", (1.0, "cycle")),
        ("W", (1.0, "W")),
        ("C", (1.0, "degC")),
        ("%", (0.01, "1")),
        ("Kbyte", (1e3, "B")),
        ("msecond", (1e-3, "s")),
        ("Ghz", (1e9, "Hz")),
        ("byte/second", (1.0, "B/s")),
        ("cycle/nsecond", (1e9, "Hz")),
    ],
)
def test_units_have_their_factors_and_base_units(text, scale):
    unit_scale = scale_of(text)

    assert unit_scale is not None
    assert unit_scale.factor == pytest.approx(scale[0])
    assert unit_scale.unit == scale[1]
