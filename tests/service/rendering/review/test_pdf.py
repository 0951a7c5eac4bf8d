import pytest
from weasyprint import HTML

from perfledger_service.rendering.review.html import review_html
from perfledger_service.rendering.review.pdf import review_pdf

MAX_PAGES = 8  # before the appendix


@pytest.mark.slow
def test_the_pdf_loads_nothing_from_elsewhere(tmp_path):
    secret = tmp_path / "secret.png"
    secret.write_text("secret")

    content = review_pdf(f'<p>x</p><img src="{secret.as_uri()}">')
    assert content.startswith(b"%PDF-")
    assert b"/Image" not in content


@pytest.mark.slow(ci_only=True)
def test_the_example_has_at_most_eight_pages_before_its_appendix(example):
    pages = HTML(string=review_html(example)).render().pages

    appendix = next(number for number, page in enumerate(pages) if "appendix" in page.anchors)
    assert 1 < appendix <= MAX_PAGES
    assert {"decision", "why", "last", "demand", "options", "charts", "risks"} <= {
        anchor for page in pages[:appendix] for anchor in page.anchors
    }
