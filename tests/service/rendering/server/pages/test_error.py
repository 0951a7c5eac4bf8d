from perfledger_service.rendering.server.pages.error import error_page


def test_the_page_says_what_failed_and_leads_back_to_the_project():
    page = error_page(404, "no series 99", repository="octo/models")

    assert "Not Found" in page
    assert "No series 99." in page
    assert 'href="/octo/models"' in page
    assert 'href="/"' in page


def test_without_a_project_it_leads_back_to_all_checks():
    page = error_page(404, "not found")

    assert 'href="/"' in page
    assert 'aria-label="Project"' not in page


def test_foreign_text_stays_text():
    page = error_page(400, "<script>alert(1)</script>", repository="octo/<b>")

    assert "<script>" not in page
    assert "<b>octo/<b>" not in page
