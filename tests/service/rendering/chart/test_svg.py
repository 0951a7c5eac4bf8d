"""Pictures as documents of XML: whole, escaped, clean and within their bounds."""

import re
from dataclasses import replace
from xml.etree import ElementTree

from hypothesis import given, settings, strategies as st

from perfledger_service.rendering.chart.axis import linear_axis, rows_axis
from perfledger_service.rendering.chart.marks import (
    BandMark,
    BarMark,
    DotMark,
    LineMark,
    RuleMark,
    TextMark,
    Tone,
)
from perfledger_service.rendering.chart.picture import (
    WIDTH,
    Chart,
    KeyShape,
    LegendKey,
    Picture,
)
from perfledger_service.rendering.chart.svg import embedded_svg, picture_svg
from perfledger_service.rendering.check.page import static_folder

SVG = "{http://www.w3.org/2000/svg}"
NASTY = ("</title>", "<script>alert(1)</script>", "]]>", "&", '"', "\x00", "\ud800", "\u202e", "é")
nasty = st.lists(st.one_of(st.sampled_from(NASTY), st.text(max_size=5)), max_size=5).map("".join)
UNIT = linear_axis(0.0, 1.0)


def a_picture(word):
    """Return a picture that has every kind of mark, and `word` wherever a text can stand."""
    marks = (
        BarMark(x=(0.0, 0.5), y=(0.0, 1.0), opacity=0.5, title=word, label=word),
        BandMark(points=((0.0, 0.1, 0.2), (1.0, 0.4, 0.9))),
        LineMark(points=((0.0, 0.0), (1.0, 2.0)), is_dashed=True, title=word, label=word),
        DotMark(x=0.5, y=0.5, is_open=True, title=word, label=word),
        RuleMark(x=0.3, title=word, label=word),
        RuleMark(y=0.3, label=word),
        TextMark(x=0.1, y=0.9, text=word, title=word),
    )
    keys = tuple(LegendKey(label=word, tone=Tone.RED, shape=shape) for shape in KeyShape)
    axis = replace(UNIT, title=word, ticks=tuple(replace(t, label=word) for t in UNIT.ticks))
    chart = Chart(x=axis, y=axis, marks=marks, title=word, caption=word, legend=keys)
    rows = replace(chart, y=rows_axis([word, word]), marks=marks[:1])
    return Picture(title=word, summary=word, charts=(chart, rows), notes=(word,))


def parsed(text):
    return ElementTree.fromstring(text)


def texts(root):
    return ["".join(each.itertext()) for each in root.iter(f"{SVG}text")]


@settings(deadline=None, max_examples=50)
@given(nasty)
def test_whatever_a_text_is_the_picture_is_xml_with_the_same_shapes(word):
    def shapes(text):
        return {each.tag for each in parsed(text).iter()}

    harmless = shapes(picture_svg(a_picture("word")))

    drawn_picture_svg = picture_svg(a_picture(word))

    assert shapes(drawn_picture_svg) <= harmless
    drawn_picture_svg.encode("utf-8")


def test_a_picture_that_stands_alone_is_described_and_one_in_a_page_is_labelled():
    alone = parsed(picture_svg(a_picture("word")))
    within = parsed(embedded_svg(a_picture("word"), label='a "label"'))

    assert [alone.find(f"{SVG}{tag}").text for tag in ("title", "desc")] == ["word", "word"]
    assert alone.get("aria-labelledby") == "title summary"
    assert (within.get("role"), within.get("aria-label")) == ("img", 'a "label"')
    assert within.find(f"{SVG}style") is None
    assert within.find(f"{SVG}title") is None


def test_a_page_without_the_style_sheet_gets_it_with_the_picture():
    chart = Chart(x=UNIT, y=UNIT, marks=())

    styled = parsed(embedded_svg(chart, label="l", has_style=True))

    assert ".picture .paper" in styled.find(f"{SVG}style").text


def test_every_class_has_a_colour_in_the_light_and_in_the_dark():
    css = (static_folder() / "picture.css").read_text(encoding="utf-8")
    light, dark, _ = (
        set(re.findall(r"\.picture \.([\w-]+)", part)) for part in css.split("@media")
    )
    text = picture_svg(a_picture("word"))
    used = {name for shape in parsed(text).iter() for name in shape.get("class", "").split()}
    tones = {str(tone) for tone in Tone}

    assert used - {"picture"} <= light
    assert tones <= light & dark


def test_what_leaves_the_plot_is_cut_at_its_edge():
    inside = LineMark(points=((0.0, 0.0), (1.0, 1.0 + 0.8e-6)))  # by rounding alone
    beyond = LineMark(points=((0.0, 0.0), (1.0, 1.0 + 1.2e-6)))

    def clips(mark):
        drawn_embedded_svg = embedded_svg(Chart(x=UNIT, y=UNIT, marks=(mark,)), label="l")
        return len(list(parsed(drawn_embedded_svg).iter(f"{SVG}clipPath")))

    assert (clips(inside), clips(beyond)) == (0, 1)


def test_labels_of_ticks_do_not_touch_each_other():
    names = [f"a long label {number}" for number in range(20)]
    axis = rows_axis(names)
    ticks = replace(axis, low=0.0, high=20.0)

    root = parsed(embedded_svg(Chart(x=ticks, y=UNIT, marks=()), label="l"))

    shown_texts = [text for text in texts(root) if text.startswith("a long label")]
    assert 3 <= len(shown_texts) <= 8


def test_a_legend_has_as_many_rows_as_it_needs():
    keys = tuple(LegendKey(label=f"series number {n}", tone=Tone.BLUE) for n in range(12))
    chart = Chart(x=UNIT, y=UNIT, marks=(), legend=keys)

    root = parsed(embedded_svg(chart, label="l"))

    places = [float(each.get("x")) for each in root.iter(f"{SVG}rect")]
    assert len(places) == 12
    assert max(places) < WIDTH - 100


def test_charts_lie_below_each_other():
    root = parsed(picture_svg(a_picture("word")))

    places = [float(g.get("transform")[len("translate(0 ") : -1]) for g in root.findall(f"{SVG}g")]
    assert places == sorted(places)
    assert places[-1] < float(root.get("viewBox").split()[3])


def test_a_summary_of_many_lines_is_cut_and_said_whole_to_screen_readers():
    summary = " ".join(f"Sentence number {number} of many." for number in range(20))

    root = parsed(picture_svg(Picture(title="t", summary=summary)))

    assert len(texts(root)) == 5
    assert texts(root)[-1].endswith("…")
    assert root.find(f"{SVG}desc").text == summary


def test_a_picture_with_every_kind_of_mark_is_as_agreed(matches_golden):
    matches_golden("every_mark.svg", picture_svg(a_picture("word")))
