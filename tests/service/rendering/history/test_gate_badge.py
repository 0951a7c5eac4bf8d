"""A badge's words, its title, and that it is a picture without anything active."""

from datetime import UTC, datetime
from xml.etree import ElementTree

import pytest

from perfledger_service.rendering.history.gate_badge import badge_svg, badge_text
from perfledger_service.values.branch_views import GateBadge, GateState

WHEN = datetime(2026, 11, 20, tzinfo=UTC)
SVG = "{http://www.w3.org/2000/svg}"


def badge_of(state=GateState.PASSING, **values):
    return GateBadge(repository="octo/models", state=state, measured_at=WHEN, **values)


@pytest.mark.parametrize(
    ("badge", "text"),
    [
        (badge_of(), "passing"),
        (badge_of(GateState.NOT_MEASURED), "not measured"),
        (badge_of(GateState.REGRESSED), "regressed"),
        (badge_of(GateState.REGRESSED, open_regressions=1), "1 open regression"),
        (badge_of(GateState.REGRESSED, open_regressions=3), "3 open regressions"),
        (badge_of(is_stale=True), "stale: passing on 2026-11-20"),
        (GateBadge(repository="octo/models", state=GateState.UNKNOWN), "unknown"),
    ],
)
def test_the_words_say_the_state(badge, text):
    assert badge_text(badge) == text
    assert [each.text for each in ElementTree.fromstring(badge_svg(badge)).iter(f"{SVG}text")] == [
        "perfledger",
        text,
    ]


def test_the_title_says_of_what_and_when():
    title = ElementTree.fromstring(badge_svg(badge_of())).find(f"{SVG}title")

    assert title.text == "perfledger, octo/models: passing, measured on 2026-11-20"


@pytest.mark.parametrize("name", ["<script>alert(1)</script>", '"><image href="x"/>', "&amp;"])
def test_a_hostile_name_stays_text(name):
    picture = badge_svg(GateBadge(repository=name, state=GateState.UNKNOWN))
    elements = list(ElementTree.fromstring(picture).iter())

    assert {each.tag.removeprefix(SVG) for each in elements} == {
        "svg",
        "title",
        "rect",
        "g",
        "text",
    }
    assert f"perfledger, {name}: unknown" in [each.text for each in elements]


@pytest.mark.parametrize("state", GateState)
def test_white_text_can_be_read_on_every_colour(state):
    picture = ElementTree.fromstring(badge_svg(badge_of(state)))
    colours = {each.get("fill") for each in picture.iter(f"{SVG}rect")}

    assert all(1.05 / (luminance(colour) + 0.05) >= 4.5 for colour in colours)


def luminance(colour):
    """Return the relative luminance of `#rrggbb` (WCAG 2.2)."""
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def test_a_badge_is_as_wide_as_its_words():
    """Browsers fit a text to its length: 6.6 pixels a character, with 8 on either side."""
    picture = ElementTree.fromstring(badge_svg(badge_of()))

    lengths = [each.get("textLength") for each in picture.iter(f"{SVG}text")]
    assert lengths == ["66", "46"]  # of 10 and 7 characters
    assert [each.get("x") for each in picture.iter(f"{SVG}text")] == ["8", "90"]
    assert picture.get("width") == "144"
