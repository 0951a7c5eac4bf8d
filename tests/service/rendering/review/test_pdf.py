import pytest

from perfledger_service.rendering.review.pdf import review_pdf


@pytest.mark.slow
def test_the_pdf_loads_nothing_from_elsewhere(tmp_path):
    secret = tmp_path / "secret.png"
    secret.write_text("secret")

    content = review_pdf(f'<p>x</p><img src="{secret.as_uri()}">')
    assert content.startswith(b"%PDF-")
    assert b"/Image" not in content
