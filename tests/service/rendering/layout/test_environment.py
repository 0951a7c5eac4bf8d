from xml.etree import ElementTree

import pytest
from jinja2 import TemplateNotFound, UndefinedError

from perfledger_service.rendering.layout.environment import render

PICTURE = {"width": 10, "height": 5, "label": "", "title": "", "summary": "", "body": ""}
HOSTILE = '</title><script>alert(1)</script>&"'


@pytest.mark.parametrize(
    "template", ["comment.md.j2", "picture.svg.j2", "html/series.html.j2", "review/review.html.j2"]
)
def test_a_value_that_is_not_given_is_an_error_and_never_an_empty_place(template):
    with pytest.raises(UndefinedError, match="is undefined"):
        render(template)


def test_a_template_that_is_not_there_is_an_error():
    with pytest.raises(TemplateNotFound):
        render("html/nothing.html.j2")


def test_what_others_wrote_is_a_text_of_the_picture_and_no_element():
    text = render("picture.svg.j2", **PICTURE | {"title": HOSTILE, "has_style": False})
    labelled = render("picture.svg.j2", **PICTURE | {"label": HOSTILE, "has_style": False})

    root = ElementTree.fromstring(text)
    assert [each.tag.rpartition("}")[2] for each in root] == ["title", "desc", "rect"]
    assert root[0].text == HOSTILE
    assert ElementTree.fromstring(labelled).get("aria-label") == HOSTILE


def test_a_picture_takes_its_style_from_the_file_that_pages_link_to():
    text = render("picture.svg.j2", **PICTURE | {"has_style": True})

    assert ".picture .paper" in text
