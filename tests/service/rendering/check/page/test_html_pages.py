import json
import re
from html import unescape
from html.parser import HTMLParser

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from perfledger_cost_models.prices.packaged_sheet import packaged_sheet
from perfledger_service.rendering.check.page import CONTENT_SECURITY_POLICY, static_folder
from tests.suite.tries import tries

NASTY = (
    "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", '" onmouseover="x', "' x='",
    "</title>", "</script>", "<!--", "-->", "]]>", "{{ 1 }}", "javascript:alert(1)", "&lt;",
    "\x00", "\u202e", "\ud800", "//evil.example", "../../", "\n", "é", "a" * 300,
)  # fmt: skip
pieces = st.one_of(st.sampled_from(NASTY), st.text(min_size=1, max_size=5))
nasty = st.lists(pieces, min_size=1, max_size=5).map("".join)
VOID = {"meta", "link", "br", "input"}
# A price links to its source; nothing is loaded from there.
ADDRESSES = {price.source_url for price in packaged_sheet().prices if price.source_url}
OURS = re.compile(
    r"/|#main|/runs/[0-9a-f]{32}(/bundle\.json|/steps\?workload=[\w.~%-]*(&[\w=&]+)?)?|/series/\d+(\?page=\d+)?|/static/[\w./-]+"
    r"|/[^/]*(/[^/]+)*/pull/\d+|/[\w.~%-]+(/[\w.~%-]+)*(\?(text=[\w.~%-]+&)?page=\d+)?"
    r"|/[\w.~%-]+(/[\w.~%-]+)*/(machines|costs/changes|reviews)\?format=(csv|json)"
    r"|/[\w.~%-]+(/[\w.~%-]+)*/costs\?(at=[\w.~%+-]+)?(&?format=(csv|json))?"
    r"|/admin/[a-z]+\?[\w.~%+&=-]*|/admin\?(format=(csv|json)|page=2)"
    r"|/search\?q=[\w.~%+-]*&format=(csv|json)"
    r"|(/[\w.~%-]+)*/?\?((page=\d+|text=[\w.~%-]*)&)*format=(csv|json)"
    r"|/[\w.~%-]+(/[\w.~%-]+)*/compare\?a=[0-9a-f]+&b=[0-9a-f]+(&format=(csv|json))?"
)


class Page(HTMLParser):
    """A page's tags in order, its attributes by name, and what its JSON holds."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.data = ""
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self._open.pop()

    def handle_endtag(self, tag):
        self.tags.append(f"/{tag}")
        assert self._open.pop() == tag

    def handle_comment(self, data):
        self.tags.append(f"!{data}")

    def handle_data(self, data):
        if self._open and self._open[-1] == "script":
            self.data += data

    def values(self, *names):
        return [value for name, value in self.attributes if name in names]


def unwrapped(tags):
    """Return the tags without those that a long text changes.

    A chart's long label stands on several lines, and a command that is cut off is no code.
    """
    return [tag for tag in tags if tag not in {"text", "/text", "code", "/code"}]


def test_pages_are_well_formed_and_have_a_title_a_heading_and_a_language(pages):
    for text in pages.values():
        page = Page(text)

        assert page.tags.count("h1") == 1
        assert page.tags.index("title") < page.tags.index("/head")
        assert page.values("lang") == ["en"]


def test_pages_load_only_from_this_site_and_link_to_sources_of_prices_besides(pages):
    for text in pages.values():
        links = Page(text).values("href", "src")

        assert [link for link in links if not OURS.fullmatch(link)] == [
            link for link in links if link in ADDRESSES
        ]
        assert all(
            (static_folder() / link.removeprefix("/static/")).is_file()
            for link in links
            if link.startswith("/static/")
        )


def test_nothing_is_inline_that_the_policy_forbids(pages):
    assert "unsafe" not in CONTENT_SECURITY_POLICY
    for text in pages.values():
        page = Page(text)

        assert not [name for name, _ in page.attributes if name == "style" or name.startswith("on")]
        assert "style" not in page.tags
        assert not page.data or json.loads(page.data)


def test_every_column_of_a_table_has_a_heading(pages):
    for text in pages.values():
        for table in re.findall(r"<table.*?</table>", text, re.DOTALL):
            head, _, body = table.partition("</thead>")
            width = head.count("<th ") + head.count("<th>")

            rows = [row for row in re.findall(r"<tr.*?</tr>", body, re.DOTALL) if "<td" in row]
            assert {len(re.findall(r"<td[ >]", row)) for row in rows} <= {width}


@pytest.mark.slow(ci_only=True)
def test_hostile_text_changes_no_structure(make_pages):
    # A metric under its known name is explained, and one under another is not.
    known_pages = make_pages(lambda text: text and text + "a_b")
    expected = {path: unwrapped(Page(text).tags) for path, text in known_pages.items()}

    # A busy machine is no reason to fail.
    slow = (HealthCheck.too_slow,)

    @settings(max_examples=tries(16), deadline=None, suppress_health_check=slow)
    @given(nasty)
    def holds(text):
        for path, content in make_pages(lambda original: original and original + text).items():
            page = Page(content)

            assert unwrapped(page.tags) == expected[path]
            assert not [name for name, _ in page.attributes if name.startswith("on")]
            links = page.values("href", "src")
            assert all(OURS.fullmatch(link) or link in ADDRESSES for link in links)
            assert not re.search(r"[\u202e\x00]", content)
            content.encode("utf-8")

    holds()


def test_a_metric_that_is_not_ours_is_shown_by_its_name_and_unit(make_pages):
    text = make_pages(lambda original: original and original + "~")["/series/1"]

    assert "Step_time_p50~ <span" in text
    assert "s~" in text


def test_an_upload_that_was_refused_says_why_and_one_that_waits_says_so(pages):
    assert "Refused: the pull request is closed" in pages["/"]
    assert "Received, not judged yet" in pages["/"]


def test_verdicts_lead_to_their_history(pages):
    assert (
        '<a href="/series/1" title="History of this figure">step time</a>'
        in (pages["/acme/models/pull/41"])
    )


def test_a_check_shows_its_causes_prices_machine_and_logs(pages):
    text = pages[f"/runs/{0:032x}"].replace("\u00a0", " ")

    assert "aten::_scaled_dot_product_flash_attention" in text
    assert "+25,000 USD" in text
    assert "Assumed, not measured: support share of capex, staff per node, utilization" in text
    assert "GPU-5b1e4c1e-9d0f-7c70-9a2e-0d7f6f6a1c11" in text
    assert "&lt;b&gt;loud&lt;/b&gt;" in text
    assert f'href="/runs/{0:032x}/bundle.json" download' in text


def test_a_check_draws_the_pairs_of_what_changed(pages):
    text = pages[f"/runs/{0:032x}"].replace("\u00a0", " ")

    assert "6 pairs, +18.2 %" in text


def test_a_check_shows_policies_the_sum_and_what_paid_devices_take(pages):
    text = next(text for text in pages.values() if "Policy fails" in text)

    assert "the whole interval is above the limit of 20,000\N{NO-BREAK SPACE}USD" in text
    assert "without a price: benchmarks.new:step" in text
    assert "<b>Together</b>: +24,000\N{NO-BREAK SPACE}USD a year" in text
    assert '<p class="amount">Costs no cash</p>' in text
    assert "Idle devices that are paid for absorb 5,982 device-hours a year" in text


def test_a_check_shows_why_its_step_changed_in_words_and_pictures(pages):
    text = pages[f"/runs/{0:032x}"].replace("\u00a0", " ")
    page = Page(text)

    evidence = "<code>fused attention became matmul and softmax</code>"
    assert f"fused or split: {evidence}" in text
    assert "in <code>train_step/Attention.forward</code>" in text
    assert "Bound by compute (81.0 % of the step, high confidence) on base, and by memory" in text
    assert "Capture the step in a CUDA graph" in text
    assert any(label.endswith("bucket by bucket") for label in page.values("aria-label"))
    assert [label for label in page.values("aria-label") if label.startswith("One step of")] == [
        "One step of base; the table below lists the longest calls",
        "One step of head; the table below lists the longest calls",
    ]
    assert "Memory in use on base: cuda:0: peak 1.00 GiB, at 0 s" in page.values("aria-label")
    assert "Memory in use on head: not recorded; profile(profile_memory=True) of" in text
    assert page.values("data-title") == ["base and head of benchmarks.gpt:train_step[batch=8]"]
    assert page.data == ""


def test_a_check_without_profiles_has_no_pictures(pages):
    text = pages[f"/runs/{1:032x}"]

    assert "picture-frame" not in text
    assert "perfetto.js" not in text


def test_a_check_without_a_price_says_what_is_not_known(pages):
    text = pages[f"/runs/{4:032x}"]

    assert "unavailable on this device: measured on a CPU, which is not on the price sheet" in text


def test_the_series_is_drawn_without_a_script_and_its_script_has_all_points(pages, series):
    page = Page(pages["/series/1"])
    data = json.loads(pages.points["/series/1/points.json"])

    assert page.tags.count("circle") == len(series.points)
    assert data["unit"] == "ms"
    assert data["branch_center"][0] == pytest.approx(12.3)
    assert data["head_center"].count(None) == 12
    columns = [
        name for name in data if name.startswith(("branch_", "head_", "x", "labels", "links"))
    ]
    assert {len(data[name]) for name in columns} == {len(series.points)}


def test_points_of_a_series_are_rows_the_newest_first(pages):
    table = pages["/series/1"].partition("Commits, newest first")[2].partition("<tbody")[2]
    older = pages["/series/1/older"].partition("<tbody")[2]

    rows = [
        " ".join(re.sub(r"<[^>]*>", " ", unescape(row)).split()) for row in table.split("</tr>")
    ]
    assert "of #51 \N{EN DASH} 15.2 ms" in rows[0]
    assert f'<a href="/runs/{11:032x}">' in table
    assert f'<a href="/runs/{0:032x}">' in older


def test_a_page_with_nothing_to_show_says_what_to_do(pages):
    assert "perfledger check --upload-url URL" in pages["/empty"]
    assert "Nothing has been uploaded for this pull request yet." in pages["/acme/models/pull/1"]
    assert "This series has no points yet:" in pages["/series/3"]


def test_the_words_and_figures_of_each_kind_of_page_are_as_agreed(pages, matches_golden):
    texts: dict[str, str] = {}
    for path, page in sorted(pages.items()):
        words = re.sub(r"<(script|style)\b.*?</\1>", "", page, flags=re.DOTALL)
        lines = map(str.strip, unescape(re.sub(r"<[^>]*>", "\n", words)).split("\n"))
        kind = re.sub(r"[0-9a-f]{32}|\d+", "N", path)
        texts.setdefault(kind, "\n".join([f"== {path}", *filter(None, lines)]))

    matches_golden("pages.txt", "\n".join(texts.values()) + "\n")
