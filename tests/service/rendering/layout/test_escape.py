from html.parser import HTMLParser
from urllib.parse import parse_qs

import cmarkgfm
import pytest
from cmarkgfm.cmark import Options
from hypothesis import given, settings, strategies as st

from perfledger_service.rendering.layout.escape import (
    EMPTY,
    cell,
    clean,
    clean_sentence,
    code,
    fence,
    html_sentence,
    link,
    path,
    prose,
    query_value,
    readable_lines,
    sentence,
    wrapping_code,
)
from tests.suite.tries import tries

FRAGMENTS = (
    "|", "||", "\\", "\\|", "`", "``", "```", "\n", "\r\n", "\n\n", "\t", " ", "\x00", "\x1b[31m",
    "<img src=x onerror=alert(1)>", "<script>", "</code>", "</details>", "<!--", "-->", "&lt;",
    "[a](http://evil.example)", "![a](http://evil.example/x.png)", "http://evil.example",
    "www.evil.example", "@octocat", "@org/team", "#1", "GH-1", "owner/name#1", "8c1f0a2b3c4d5e6f7",
    "~~~", "# ", "- ", "> ", "| a | b |", "---", "$x$", ":+1:", "[^1]", "\u202e", "\u2066",
    "\u200b", "\u2028", "\u2029", "\ufeff", "\ud800", "\U0010ffff", "é", "模型", "x" * 90,
)  # fmt: skip
hostile = st.lists(st.one_of(st.sampled_from(FRAGMENTS), st.text(max_size=8)), max_size=8).map(
    "".join
)


class Reader(HTMLParser):
    """Reads rendered HTML: which tags, what text in code and outside."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.codes: list[str] = []
        self.outside = ""
        self._depth = 0

    def handle_starttag(self, tag, attrs):  # noqa: ARG002 - the parser's signature
        self.tags.append(tag)
        if tag == "code":
            self._depth += 1
            self.codes.append("")

    def handle_endtag(self, tag):
        self._depth -= tag == "code"

    def handle_comment(self, data):  # noqa: ARG002 - the parser's signature
        self.tags.append("comment")

    def handle_data(self, data):
        if self._depth:
            self.codes[-1] += data
        else:
            self.outside += data


def read(markdown: str) -> Reader:
    reader = Reader()
    reader.feed(
        cmarkgfm.github_flavored_markdown_to_html(markdown, options=Options.CMARK_OPT_UNSAFE)
    )
    return reader


@pytest.mark.slow(ci_only=True)
@settings(max_examples=tries(300), deadline=None)
@given(st.lists(hostile, min_size=10, max_size=10))
def test_a_hostile_name_is_one_cell_of_code_and_is_shown_as_it_is(names):
    table = "| name | other |\n|--|--|\n" + "".join(f"| {code(name)} | x |\n" for name in names)

    reader = read(table)

    assert reader.codes == [clean(name) for name in names]
    assert reader.tags.count("td") == 2 * len(names)
    assert set(reader.tags) == {"table", "thead", "tbody", "tr", "th", "td", "code"}
    assert reader.outside.split() == ["name", "other", *["x"] * len(names)]


@pytest.mark.slow
@settings(max_examples=tries(300), deadline=None)
@given(hostile)
def test_a_hostile_name_in_a_line_is_shown_as_it_is_too(name):
    reader = read(f"- {code(name, in_table=False)}\n- x")

    assert reader.codes == [clean(name)]
    assert reader.tags == ["ul", "li", "code", "li"]


@pytest.mark.slow(ci_only=True)
@settings(max_examples=tries(1000), deadline=None)
@given(hostile, st.lists(hostile, max_size=3))
def test_prose_shows_outside_code_only_plain_words_and_figures(text, names):
    said_prose = prose(" ".join([text, *names, *names]), names=names, in_table=False)

    reader = read(f"Note: {said_prose}")

    assert set(reader.tags) <= {"p", "code"}
    assert not set("@#<>[]`|~_*&$\\/") & set(reader.outside)
    assert "www." not in reader.outside


@pytest.mark.slow(ci_only=True)
@settings(max_examples=tries(500), deadline=None)
@given(hostile)
def test_nothing_in_a_log_ends_its_fence(text):
    log = f"{text}\n```\n{text}\n````\n</code></pre><b>"
    fenced_text = fence(log, max_characters=5000, max_lines=50)

    reader = read(f"before\n\n{fenced_text}\n\nafter")

    assert reader.tags == ["p", "pre", "code", "p"]
    assert "".join(reader.outside.split()) == "beforeafter"


@settings(max_examples=40, deadline=None)
@given(hostile)
def test_clean_text_is_one_short_visible_line(text):
    cleaned_text = clean(text)

    assert 0 < len(cleaned_text) <= 80
    assert cleaned_text == " ".join(cleaned_text.split())
    assert cleaned_text.isprintable() or all(c.isprintable() or c == "\u00a0" for c in cleaned_text)
    assert clean(cleaned_text) == cleaned_text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("bench.gpt:step", "`bench.gpt:step`"),
        ("a|b", r"`a\|b`"),
        ("a`b", "``a`b``"),
        ("`a`", "`` `a` ``"),
        ("a\nb\tc", "`a b c`"),
        ("\u202eevil", "`evil`"),
        ("", f"`{EMPTY}`"),
        ("x" * 81, "`" + "x" * 79 + "…`"),
    ],
)
def test_code(text, expected):
    assert code(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 regressed, 2 unchanged of 3 workloads", "1 regressed, 2 unchanged of 3 workloads"),
        ("AWS p5.48xlarge, on demand", "AWS p5.48xlarge, on demand"),
        ("call torch.nn.functional.sdpa.", "call `torch.nn.functional.sdpa`."),
        ("by @octocat: see #1", "by `@octocat`: see `#1`"),
        ("proven within ±1 %", "proven within ±1 %"),
        ("p = 2.1e-05 (Holm)", "p = 2.1e-05 (Holm)"),
        ("at 8c1f0a2b3c4d5e6f7081", "at `8c1f0a2b3c4d5e6f7081`"),
        ("a <b> <c>", "a `<b> <c>`"),
        ("...", "`...`"),
        ("fewer copies (device=), larger", "fewer copies (`device=`), larger"),
        ("pad (f('high')): slow", "pad (`f('high')`): slow"),
        ("read back (.item(), .cpu(), print)", "read back (`.item(), .cpu()`, print)"),
        ("in (anonymous)::f and (a_b)c", "in `(anonymous)::f` and `(a_b)c`"),
        ("(_x) first", "(`_x`) first"),
        ("(a b_c) d", "(a `b_c`) d"),
        ("(a f(x), b_c): d", "(a `f(x), b_c`): d"),
        ("(a (b_c)) d", "(a (`b_c`)) d"),
        ("(a (anonymous)::f) d", "(a `(anonymous)::f`) d"),
        ("at ( ) and (()), (", "at `( )` and `(()), (`"),
        ("raise `budget`.", "raise `budget`."),
        ("run `perfledger check --resume`, then", "run `perfledger check --resume`, then"),
        ("(`a b_c`): x (by `d`) (`e` f_g)", "(`a b_c`): x (by `d`) (`e` `f_g`)"),
        ("`a` `b` c`d` `e", "`a` `b` ``c`d` `e``"),
        ("a ` b `` c ` d", "a `` ` `` b ``` `` ``` c `` ` `` d"),
        ("`|` or `<b>`", "`\\|` or `<b>`"),
    ],
)  # fmt: skip
def test_prose(text, expected):
    assert prose(text) == expected


def test_a_name_that_prose_quotes_stays_in_one_piece():
    cpu = "Intel(R) Xeon(R) Processor @ 2.80GHz"

    assert prose(f"measured on {cpu}; 4 cores", names=(cpu, "")) == f"measured on `{cpu}`; 4 cores"
    assert prose("a.b and a.b.c", names=("a.b", "a.b.c")) == "`a.b` and `a.b.c`"
    assert prose("1. x", names=("y",)) == "`1.` x"


def test_a_sentence_begins_with_a_capital_and_ends_with_a_stop():
    assert sentence("the margin is 1%") == "The margin is 1%."
    assert sentence("why?") == "Why?"
    assert sentence("a_b is gone") == "`a_b` is gone."
    assert sentence("1") == "`1.`"
    assert clean_sentence("all is\ngone") == "All is gone."


def test_a_name_at_the_start_of_a_sentence_keeps_its_small_letter():
    assert clean_sentence("bench.gpt:step was not profiled") == "bench.gpt:step was not profiled."


@pytest.mark.parametrize(
    "url",
    [
        "https://perf.example.com/runs/1",
        "http://127.0.0.1:8765/acme/models/pull/41?x=1#top",
    ],
)
def test_a_link_of_ours_is_kept(url):
    assert link(url) == url


@pytest.mark.parametrize(
    "url",
    ["javascript:alert(1)", "https://a b", "https://a)[x](http://b", "https://a>", "//a", "", "https://a\n"],
)  # fmt: skip
def test_what_could_end_a_link_is_none(url):
    assert link(url) == ""


@pytest.mark.parametrize(
    ("repository", "expected"),
    [
        ("acme/models", "acme/models"),
        ("//evil.example", "evil.example"),
        ("../..", ""),
        ('a"b/c d', "a%22b/c%20d"),
    ],
)
def test_a_repository_cannot_lead_off_the_site(repository, expected):
    assert path(repository) == expected


@given(st.text(max_size=50))
def test_a_value_of_a_query_reads_back_and_separates_nothing(text):
    value = query_value(text)

    assert set(value).isdisjoint("&=#?/ \"'<>")
    assert parse_qs(f"text={value}", keep_blank_values=True)["text"] == [text]


def test_a_value_of_a_query_may_hold_what_has_no_encoding():
    assert query_value("a\ud800") == "a%3F"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("run `a --b`, then (`c`)", "Run <code>a --b</code>, then (<code>c</code>)."),
        ("`<b>` & <i>", "<code>&lt;b&gt;</code> &amp; &lt;i&gt;."),
        ("an a`b` ` c ` ``d``", "An a`b` ` c ` ``d``."),
        ("bench.gpt:step is slow", "bench.gpt:step is slow."),
    ],
)
def test_a_sentence_of_a_page_has_what_it_quotes_as_code(text, expected):
    assert html_sentence(text) == expected


def test_a_sentence_of_a_page_marks_the_whole_words_that_the_reader_types():
    text = html_sentence(
        "run a --b 'c d', or set margin = 0.2.", typed=("a --b 'c d'", "margin = 0")
    )

    assert text == ('Run <code class="typed">a --b &#39;c d&#39;</code>, or set margin = 0.2.')


def test_a_sentence_of_a_page_has_the_names_that_it_quotes_as_code():
    text = html_sentence("aten::bmm +2 ms: replaces a<b.", names=("aten::bmm", "a<b", "a"))

    assert text == "<code>aten::bmm</code> +2 ms: replaces <code>a&lt;b</code>."


def test_a_name_within_backticks_does_not_break_what_they_quote():
    text = html_sentence("run `perfledger check slow` (`slow`), slow.", names=("slow", "check"))

    assert text == (
        "Run <code>perfledger check slow</code> (<code>slow</code>), <code>slow</code>."
    )


@settings(max_examples=tries(100), deadline=None)
@given(hostile)
def test_a_hostile_sentence_of_a_page_is_text_and_code_alone(text):
    reader = Reader()
    reader.feed(html_sentence(f"it is {text} or `{text}`", names=(text[:3],), typed=(text,)))

    assert set(reader.tags) <= {"code"}


def test_a_log_keeps_its_last_lines_and_its_indentation():
    log = "first\n\x1b[31m  second\x1b[0m\n\u202ethird\n"

    assert readable_lines(log, max_characters=100, max_lines=2) == "[31m  second[0m\nthird"
    assert readable_lines("", max_characters=100, max_lines=2) == EMPTY
    assert fence("a\nb") == "```text\na\nb\n```"


@given(hostile)
def test_a_cell_is_never_a_formula_and_never_invisible(text):
    shown_cell = cell(text)

    assert shown_cell[:1] not in ("=", "@")
    assert shown_cell[:1] not in ("+", "-") or shown_cell.lstrip("+-")[:1].isdigit()
    assert set(shown_cell).isdisjoint("\x00\n\r\t\u202e\u200b")


@pytest.mark.parametrize("text", ["-0.33", "+5", "aws:p5.48xlarge/on_demand", ""])
def test_a_cell_leaves_numbers_and_names_alone(text):
    assert cell(text) == text


@pytest.mark.parametrize(
    "text", ["-2+3+cmd|' /C calc'!A0", "+1-1", "\uff1d1+1", "\t=1", "@sum(a1)"]
)
def test_a_cell_that_only_begins_as_a_number_is_text(text):
    assert cell(text) == f"'{text.strip()}"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("gpt:step", "<code>gpt:<wbr>step</code>"),
        (
            "benchmarks.gpt:train_step[batch=8,size=2]",
            "<code>benchmarks.<wbr>gpt:<wbr>train_step<wbr>[batch=8,<wbr>size=2]</code>",
        ),
        ("gpt:_private_", "`gpt:_private_`"),
        ("www.gpt:step", "`www.gpt:step`"),
        ("a@b.c", "`a@b.c`"),
        ("a|b", "`a\\|b`"),
    ],
)
def test_the_name_of_a_workload_may_wrap_between_its_parts(name, text):
    assert wrapping_code(name) == text


@given(st.text(alphabet="ab1_.:=,[]-|`<&@\\ ", max_size=20))
def test_a_name_that_may_wrap_is_shown_whole_and_as_code(text):
    reader = read(f"| a |\n|--|\n| {wrapping_code(text)} |")

    assert reader.codes == [clean(text)]
    assert set(reader.tags) <= {"table", "thead", "tbody", "tr", "th", "td", "code", "wbr"}
