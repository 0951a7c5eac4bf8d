import pytest

from perfledger_service.rendering.chart.marks import BandMark, Tone
from perfledger_service.rendering.history.kernels import (
    MAX_AREAS,
    MAX_CHANGES,
    kernel_chart,
    kernel_section,
)
from perfledger_service.rendering.layout.environment import render
from perfledger_service.values.upload_views import (
    FamilyChange,
    FamilyHistory,
    KernelHistory,
    SeriesChange,
)

COMMITS = tuple(f"{number:040x}" for number in range(4))
NOT_A_NUMBER = float("nan")


def family(name, *seconds, series_id=1, places=None, changes=()):
    return FamilyHistory(
        series_id=series_id,
        name=name,
        places=tuple(range(len(seconds))) if places is None else places,
        seconds=seconds,
        changes=changes,
    )


def changed(at, added_s, *, change=0.2, is_moved=False, has_new_environment=False):
    return FamilyChange(
        change=SeriesChange(
            sha=COMMITS[at],
            after_sha=COMMITS[at - 1],
            last_sha=COMMITS[at],
            change=change,
            low=change - 0.01,
            high=change + 0.01,
            has_new_environment=has_new_environment,
        ),
        added_s=added_s,
        is_moved=is_moved,
    )


def history(*families, commits=COMMITS):
    return KernelHistory(machine_class="cpu:Test CPU:1", commits=commits, families=families)


def test_areas_stand_on_each_other_and_a_gap_is_no_part_of_the_step():
    chart = kernel_chart(
        history(family("mm", 3.0, 3.0, 4.0, 4.0), family("add", 1.0, 2.0, places=(0, 3)))
    )

    mm, add = chart.marks
    assert mm.points == ((0, 0.0, 3.0), (1, 0.0, 3.0), (2, 0.0, 4.0), (3, 0.0, 4.0))
    assert add.points == ((0, 3.0, 4.0), (1, 3.0, 3.0), (2, 4.0, 4.0), (3, 4.0, 6.0))
    assert [key.label for key in chart.legend] == ["mm", "add"]
    assert mm.tone is not add.tone
    assert chart.y.high == 6.0


def test_more_families_than_colours_are_one_area():
    many = [family(f"k{number}", 1.0, 1.0, 1.0, 1.0) for number in range(MAX_AREAS + 3)]

    chart = kernel_chart(history(*many))

    assert len(chart.marks) == MAX_AREAS + 1
    assert all(isinstance(mark, BandMark) for mark in chart.marks)
    assert (chart.legend[-1].label, chart.legend[-1].tone) == ("3 others", Tone.MUTED)
    assert chart.marks[-1].points[0] == (0, MAX_AREAS, MAX_AREAS + 3)


def test_families_whose_long_names_begin_alike_have_different_names_in_the_legend():
    attention = "aten::_scaled_dot_product_flash_attention_for_cpu"
    names = [attention, f"{attention}_backward", f"aten::{'a' * 60}", "mm"]

    chart = kernel_chart(history(*(family(name, *[1.0] * 4) for name in names)))

    assert [key.label for key in chart.legend] == [
        "aten::_scaled_dot_produ\u2026ttention_for_cpu",
        "aten::_scaled_dot_produ\u2026for_cpu_backward",
        f"aten::{'a' * 33}\u2026",
        "mm",
    ]


def test_a_family_that_is_gone_has_its_own_area():
    many = [family(f"k{number}", 1.0, 1.0, 1.0, 1.0) for number in range(MAX_AREAS)]

    chart = kernel_chart(history(*many, family("attention", 9.0, 9.0, 0.0, 0.0)))

    assert chart.legend[0].label == "attention"
    assert chart.legend[-1].label == "1 other"


def test_one_commit_has_a_table_and_no_chart():
    section = kernel_section(history(family("mm", 0.003), commits=COMMITS[:1]))

    assert (section.svg, section.commits) == ("", 1)
    assert section.families == ((1, "mm", "3.00\N{NO-BREAK SPACE}ms"),)


def test_changes_are_listed_newest_first_with_what_they_added():
    section = kernel_section(
        history(
            family("mm", *[1.0] * 4, changes=(changed(1, 0.002), changed(3, -0.001, change=-0.1))),
            family("add", *[1.0] * 4, changes=(changed(3, 0.004, is_moved=True),)),
            family("new", *[1.0] * 4, changes=(changed(2, 0.001, change=NOT_A_NUMBER),)),
        )
    )

    changes = [(row.name, row.word, row.seconds.replace("\xa0", " ")) for row in section.changes]
    assert changes == [
        ("add", "moved", "+4.00 ms"),
        ("mm", "faster", "-1.00 ms"),
        ("new", "new", "+1.00 ms"),
        ("mm", "slower", "+2.00 ms"),
    ]
    assert section.changes[2].size == ""
    assert section.changes[3].size.replace("\xa0", " ") == "+20.0 %, +19.0 to +21.0"
    assert section.changes[3].commits == "000000000000..000000000000"


def test_a_change_says_whether_the_machine_changed_there_too():
    section = kernel_section(
        history(
            family(
                "mm",
                *[1.0] * 4,
                changes=(changed(1, 0.002, has_new_environment=True), changed(3, 0.001)),
            )
        )
    )

    page = render("html/kernels.html.j2", part=section, machine="cpu:Test CPU:1")

    assert [row.has_new_environment for row in section.changes] == [False, True]
    assert page.count("the machine changed there too") == 1
    assert "less than 1.0\N{NO-BREAK SPACE}% of a step" in page


def test_no_more_changes_are_listed_than_can_be_read():
    many = [
        family(f"k{number}", *[1.0] * 4, changes=(changed(1, 0.001),))
        for number in range(MAX_CHANGES + 2)
    ]

    assert len(kernel_section(history(*many)).changes) == MAX_CHANGES


@pytest.mark.parametrize("name", ["<script>alert(1)</script>", "a" * 5000, "\x1b[2J", "_=1+2"])
def test_hostile_names_stay_text_and_short_in_the_picture(name):
    section = kernel_section(history(family(name, 1.0, 2.0, 1.0, 1.0)))

    assert "<script>" not in section.svg
    assert "\x1b" not in section.svg
    assert "a" * 100 not in section.svg


@pytest.mark.parametrize(
    ("change", "added_s", "word", "tone"),
    [(-1.0, -0.001, "gone", "improved"), (NOT_A_NUMBER, 0.001, "new", "regressed")],
)
def test_a_family_that_is_new_or_gone_has_a_word_and_no_percentage(change, added_s, word, tone):
    one = family("gelu", 1.0, 1.0, 1.0, 1.0, changes=(changed(1, added_s, change=change),))

    (row,) = kernel_section(history(one)).changes

    assert (row.word, row.tone, row.size) == (word, tone, "")
