"""What a comment's structure is must not depend on what others wrote into it."""

from html.parser import HTMLParser

import cmarkgfm
import pytest
from cmarkgfm.cmark import Options
from hypothesis import example, given, settings, strategies as st

from perfledger_service.rendering.check.comment import comment
from perfledger_service.rendering.layout.escape import clean
from tests.suite.tries import tries

URL = "https://perf.example.com/acme/models/pull/41"
NASTY = (
    "|", "`", "```", "\\", "\n\n", "\r", "\x00", "\u202e", "<b>", "<!--", "-->", "</details>",
    "<!-- perfledger:comment:v1 -->", "<img src=x onerror=alert(1)>", "[a](http://evil.example)",
    "![a](http://evil.example/x.png)", "http://evil.example", "www.evil.example", "@octocat", "#1",
    "\n# head", "\n- item", "\n> quote", "| a | b |\n|--|--|", "~~~", "&amp;", "é", "a b", "1",
)  # fmt: skip
nasty = st.lists(
    st.one_of(st.sampled_from(NASTY), st.text(min_size=1, max_size=5)), min_size=1, max_size=6
).map("".join)


class Shape(HTMLParser):
    """The tags of a page without its code spans, its links, and the text outside code."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str | None] = []
        self.codes: list[str] = []
        self.outside = ""
        self._depth = 0

    def handle_starttag(self, tag, attrs):
        if tag == "code":
            self._depth += 1
            self.codes.append("")
        elif tag != "wbr" or not self._depth:  # where a name may wrap
            self.tags.append(tag)
        self.links += [value for name, value in attrs if name in {"href", "src"}]
        assert {name for name, _ in attrs} <= {"href", "align", "class", "lang"}

    def handle_endtag(self, tag):
        if tag == "code":
            self._depth -= 1
        else:
            self.tags.append(f"/{tag}")

    def handle_comment(self, data):
        self.tags.append(f"!{data}")

    def handle_data(self, data):
        if self._depth:
            self.codes[-1] += data
        else:
            self.outside += data


def shape(markdown: str) -> Shape:
    found_shape = Shape()
    found_shape.feed(
        cmarkgfm.github_flavored_markdown_to_html(markdown, options=Options.CMARK_OPT_UNSAFE)
    )
    return found_shape


@pytest.mark.parametrize("name", ["regressed", "not_measured", "undecided", "cpu_only"])
@pytest.mark.slow
def test_hostile_text_changes_no_structure(reports, rewrite, name):
    # Each text keeps its own tail, so that different names stay different, and starts with
    # something: a metric under its known name is explained, and one under another is not.
    expected = shape(
        comment(rewrite(reports[name], lambda original: original and "a_b " + original), url=URL)
    )

    @settings(max_examples=tries(40), deadline=None)
    @given(nasty)
    def holds(text):
        found_shape = shape(
            comment(rewrite(reports[name], lambda original: original and text + original), url=URL)
        )

        assert found_shape.tags == expected.tags
        assert set(found_shape.links) == {URL}
        assert found_shape.tags.count("! perfledger:comment:v1 ") == 1
        assert not set("@[]`") & set(found_shape.outside)
        assert "www." not in found_shape.outside
        assert "http" not in found_shape.outside

    holds()


@pytest.mark.slow(ci_only=True)
def test_hostile_names_are_shown_whole_in_their_own_cells(reports, rewrite):
    @settings(max_examples=tries(40), deadline=None)
    @given(nasty)
    @example(
        "|" + "a name too long for the table of causes, so that it stands whole below only" * 2
    )
    def holds(text):
        report = rewrite(reports["regressed"], lambda original: text + original)

        codes = shape(comment(report, url=URL)).codes
        names = [verdict.workload for verdict in report.verdicts]
        names += [cause.name for cause in report.explanations[0].causes]

        assert {clean(name) for name in names} <= set(codes)

    holds()


def test_a_stray_scripture_of_markdown_is_only_code(reports, rewrite):
    text = "`</details><img src=x>|@octocat [a](http://evil.example)\n# head"
    report = rewrite(reports["regressed"], lambda _: text)

    found_shape = shape(comment(report, url=URL))

    assert "img" not in found_shape.tags
    assert set(found_shape.links) == {URL}
    assert clean(text) in found_shape.codes
