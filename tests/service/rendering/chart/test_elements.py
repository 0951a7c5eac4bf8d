import pytest

from perfledger_service.rendering.chart.elements import element, group_element, text_element
from perfledger_service.rendering.chart.marks import Anchor


@pytest.mark.parametrize(
    ("value", "written"),
    [(1.0, "1"), (1.236, "1.24"), (-0.5, "-0.5"), (7, "7"), ('a"<b>', "a&quot;&lt;b&gt;")],
)
def test_attributes_have_two_decimals_at_most_and_no_quotes(value, written):
    assert element("rect", {"x": value}) == f'<rect x="{written}"/>'


def test_a_hostile_title_stays_text():
    shown_element = element("rect", {"x": 1}, title="</title><script>\u202e")

    assert shown_element == '<rect x="1"><title>&lt;/title&gt;&lt;script&gt;</title></rect>'


def test_a_text_has_its_class_anchor_and_title():
    shown_text_element = text_element(
        1.0, 2.5, "a & b", kind="soft", anchor=Anchor.END, title="a < b"
    )

    assert shown_text_element == (
        '<text class="soft" x="1" y="2.5" text-anchor="end">a &amp; b<title>a &lt; b</title></text>'
    )
    assert text_element(1.0, 2.5, "a") == '<text x="1" y="2.5">a</text>'


def test_a_text_has_at_most_400_characters():
    assert f">{'x' * 400}<" in text_element(0, 0, "x" * 400)
    assert f"{'x' * 399}\N{HORIZONTAL ELLIPSIS}<" in text_element(0, 0, "x" * 401)


def test_a_group_moves_its_parts_down_together():
    shown_group_element = group_element(["<a/>", "<b/>"], down=12.345)

    assert shown_group_element == '<g transform="translate(0 12.35)">\n<a/>\n<b/>\n</g>'
