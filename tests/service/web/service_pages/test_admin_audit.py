"""The filter of the audit log over HTTP."""

import pytest

from tests.cases import case


@pytest.fixture
def carol(browser_of):
    """An admin of octo/models."""
    return browser_of("carol")


def test_the_audit_log_is_filtered_and_its_pages_lead_on(browser_of, carol, monkeypatch):
    monkeypatch.setattr("perfledger_service.web.service_pages.admin_audit.ENTRIES_PER_PAGE", 1)
    alice = browser_of("alice")
    for reason in ("first", "second"):
        alice.post("/octo/models/events/1/state", state="open", reason=reason)
    page = carol.get("/admin/audit", params={"actor": "alice", "action": "set event"}).text
    assert "second" in page
    assert "first" not in page
    [older] = [part for part in page.split('"') if "before=" in part]

    assert "first" in carol.get(older.replace("&amp;", "&")).text
    assert carol.get("/admin/audit", params={"actor": "nobody"}).text.count("No entries match") == 1
    assert "alice" in carol.get("/admin/audit?since=2026-11-20&until=2026-11-21").text
    assert "No entries match" in carol.get("/admin/audit?until=2026-11-20").text


def test_a_page_of_the_audit_log_has_fifty_entries(browser_of, carol):
    alice = browser_of("alice")
    for number in range(51):
        alice.post("/octo/models/events/1/state", state="open", reason=f"reason {number}.")

    page = carol.get("/admin/audit", params={"action": "set event"}).text

    assert [f"reason {number}." in page for number in (0, 1, 50)] == [False, True, True]


def test_data_that_is_cut_names_where_the_rest_begins(browser_of, carol, monkeypatch):
    monkeypatch.setattr("perfledger_service.web.service_pages.admin_audit.MAX_ENTRIES", 1)
    alice = browser_of("alice")
    for reason in ("first", "second"):
        alice.post("/octo/models/events/1/state", state="open", reason=reason)
    address = "/admin/audit?format=json&actor=alice"
    newest = carol.get(address).json()
    rest = carol.get(f"{address}&before={newest['older']}").json()
    details = [one["detail"] for part in (newest, rest) for one in part["entries"]]

    assert ["second" in details[0], "first" in details[1]] == [True, True]
    assert rest["older"] is None


def test_a_filter_that_names_nothing_is_an_error_of_ours(carol):
    for query, status in [
        ("project=octo/other", 404),
        ("project=%00", 200),
        ("action=%3Cscript%3E", 400),
        ("since=yesterday", 400),
        ("before=0", 422),
        ("before=99999999999", 422),
        ("actor=" + "a" * 201, 422),
    ]:
        with case(query=query, status=status):
            answer = carol.get(f"/admin/audit?{query}")

            assert answer.status_code == status
            assert "<script>" not in answer.text.replace(
                '<script defer src="/static/search.js">', ""
            )
