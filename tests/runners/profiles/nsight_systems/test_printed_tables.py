"""Tables here are written by hand in the shapes that `nsys stats` prints; nothing was recorded."""

import pytest

from perfledger_profiles.nsight_systems.printed_tables import cells_of

TABLE = """\
 Time (%)  Total Time (ns)  Instances         Name
 --------  ---------------  ---------  -------------------
     95.0        3,481,709          3  gemm(float *, int)
      5.0          182,472         10  relu, fused  twice
""".splitlines()
FRAMED = """\
+----------+-----------------+--------------------+
| Time (%) | Total Time (ns) |        Name        |
+----------+-----------------+--------------------+
|     95.0 |       3,481,709 | gemm(float *, int) |
+----------+-----------------+--------------------+
""".splitlines()
ROWS = [
    ["Time (%)", "Total Time (ns)", "Instances", "Name"],
    ["95.0", "3,481,709", "3", "gemm(float *, int)"],
    ["5.0", "182,472", "10", "relu, fused  twice"],
]


def test_the_dashes_say_where_the_columns_are():
    assert list(cells_of(TABLE)) == ROWS


def test_a_table_in_a_frame_has_the_same_cells():
    assert list(cells_of(FRAMED)) == [
        ["Time (%)", "Total Time (ns)", "Name"],
        ["95.0", "3,481,709", "gemm(float *, int)"],
    ]


@pytest.mark.parametrize("prefix", ["// ", "    ", "> ", "# "])
def test_a_table_may_be_a_comment_or_a_quotation(prefix):
    assert list(cells_of([prefix + line for line in TABLE])) == ROWS


def test_what_stands_right_of_the_last_column_is_not_of_its_name():
    lines = [*TABLE[:3], TABLE[3] + "   # two kernels in one"]

    assert list(cells_of(lines)) == ROWS


def test_a_blank_line_or_a_short_one_ends_a_table():
    other = ["", "a,b", "```", "c,d"]

    assert list(cells_of([*TABLE, *other])) == [*ROWS, [""], ["a", "b"], ["```"], ["c", "d"]]
    assert list(cells_of([*TABLE, *other[2:]])) == [*ROWS, ["```"], ["c", "d"]]


def test_rows_of_csv_before_and_after_a_table_are_read():
    lines = ["a,b", "", *TABLE, "", "c,d"]

    assert list(cells_of(lines)) == [["a", "b"], [""], *ROWS, [""], ["c", "d"]]


def test_a_row_with_text_between_its_columns_is_torn():
    shifted = "     95.0   3,481,709,000,000,000,000      3  gemm(float *, int)"

    assert list(cells_of([*TABLE[:2], shifted])) == [ROWS[0], None]


@pytest.mark.parametrize(
    "lines",
    [
        TABLE[1:2],
        ["-----", "a,b"],
        ["x", "--- --- x"],
        ["- - - -"],
        [" " * 9 + "--- " * 300_000],
        ["---" + "-" * 100_000 + "!"],
        FRAMED[:1],
    ],
)
def test_dashes_alone_and_very_long_lines_are_no_tables(lines):
    assert all(cells is None or len(cells) <= 2 for cells in cells_of(lines))
