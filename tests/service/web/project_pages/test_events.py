"""Tests the pages on which events are decided, over real HTTP."""

from perfledger_service.store.database import write_session
from perfledger_service.store.removals.tables import EventRemovalRow
from perfledger_service.usecases.people.audit import audit_log
from tests.cases import case

PATH = "/octo/models/events/1"


def test_what_is_to_decide_links_to_its_event(browser_of):
    page = browser_of("vera").get("/octo/models").text

    assert f'<a href="{PATH}">Event 1</a>' in page
    assert "gpt:step" in page
    assert 'name="state"' not in page


def test_the_page_of_a_project_shows_the_part_that_is_asked_for(browser_of):
    vera = browser_of("vera")

    assert "Nothing is settled." in vera.get("/octo/models?part=settled&order=most-expensive").text
    assert vera.get("/octo/models?part=other").status_code == 422


def test_the_data_of_a_project_are_the_events_that_its_page_shows(browser_of):
    vera = browser_of("vera")

    def numbers(query):
        events = vera.get(f"/octo/models?{query}&format=json").json()["events"]
        return [one["id"] for one in events]

    assert numbers("order=newest") == numbers("part=to-decide") == [1]
    assert numbers("part=settled") == numbers("text=resnet") == []
    assert 'href="/octo/models?part=to-decide&amp;order=newest&amp;text=gpt&amp;format=csv"' in (
        vera.get("/octo/models?text=gpt").text
    )


def test_a_decision_on_the_page_of_a_project_leads_back_to_its_event_in_the_list(browser_of):
    alice = browser_of("alice")
    place = {"part": "to-decide", "order": "most-expensive", "page": "1"}

    page = alice.get("/octo/models?order=most-expensive").text
    for name, value in place.items():
        assert f'name="{name}" value="{value}"' in page
    answer = alice.post(f"{PATH}/state", state="acknowledged", reason="on it", **place)

    to, _, anchor = answer.headers["location"].partition("#")
    assert to == "/octo/models?part=to-decide&order=most-expensive&page=1&decided=1"
    assert f'id="{anchor}"' in (back := alice.get(to).text)
    assert "On it." in back
    assert "To decide 0" in back
    assert "Nothing to decide" in alice.get("/octo/models").text
    assert "On it." in alice.get("/octo/models?part=acknowledged").text


def test_a_decision_leads_to_no_other_site(browser_of):
    alice = browser_of("alice")
    fields = {"state": "open", "reason": "look"}

    for place in (
        {"part": "//evil.example"},
        {"part": "to-decide", "order": "https://evil.example"},
        {"part": "to-decide", "page": "//evil.example"},
        {"part": "to-decide", "page": "0"},
        {"part": "to-decide", "page": "9" * 30},
        {"next": "//evil.example"},
    ):
        with case(place=place):
            assert alice.post(f"{PATH}/state", **fields, **place).status_code == 400


def test_only_a_maintainer_queues_jobs_and_the_reason_of_a_refusal_is_said(browser_of):
    alice = browser_of("alice")

    answer = alice.post(f"{PATH}/jobs", kind="rerun")
    assert answer.status_code == 400
    assert "comment /perfledger rerun there" in answer.text
    assert alice.post(f"{PATH}/jobs", kind="canary").status_code == 400
    assert alice.post(f"{PATH}/jobs", kind="rerun", token="0" * 64).status_code == 403
    assert browser_of("vera").post(f"{PATH}/jobs", kind="rerun").status_code == 403


def test_a_viewer_reads_an_event_and_has_no_form(browser_of):
    page = browser_of("vera").get(PATH).text

    assert "Event 1" in page
    assert "gpt:step" in page
    assert 'name="state"' not in page


def test_a_maintainer_sets_a_state_with_name_and_address(browser_of, people_site):
    alice = browser_of("alice")
    fields = {"state": "expected", "reason": "safer <math>", "owner": "vera", "until": "2026-12-01"}
    assert alice.post(f"{PATH}/state", **fields).headers["location"] == PATH

    page = alice.get(PATH).text
    assert "Safer &lt;math&gt;; owner vera; until 2026-12-01" in page
    [entry] = audit_log(people_site.engine, repository="octo/models", most=9)
    assert (entry.actor, entry.address) == ("alice", "127.0.0.1")
    assert entry.detail == "event 1 to expected: safer <math>; owner vera; until 2026-12-01"


def test_a_state_that_nobody_can_set_is_refused(browser_of, people_site):
    for fields in [
        {"state": "fixed", "reason": "it is"},
        {"state": "expected", "reason": "without an owner"},
        {"state": "acknowledged", "reason": " "},
        {"state": "closed", "reason": "no such state"},
        {"state": "open", "reason": "a", "until": "soon"},
        {"state": "open", "reason": "a", "other": "field"},
        {"reason": "no state"},
    ]:
        with case(fields=fields):
            assert browser_of("alice").post(f"{PATH}/state", **fields).status_code == 400
            assert audit_log(people_site.engine, repository="octo/models", most=9) == ()


def test_an_event_of_another_project_is_not_there(browser_of):
    alice = browser_of("alice")

    assert alice.get("/octo/models/events/2").status_code == 404
    assert alice.get("/octo/other/events/2").status_code == 404
    sent = alice.post("/octo/models/events/2/state", state="open", reason="mine?")
    assert sent.status_code == 404


def test_the_page_of_an_event_that_went_says_so(browser_of, people_site, now):
    removal = {"event_id": 3, "project_id": 1, "removed_at": now, "kept_days": 90}
    with write_session(people_site.engine) as session:
        session.add(EventRemovalRow(**removal))
        session.commit()

    answer = browser_of("vera").get("/octo/models/events/3", headers={"Accept": "text/html"})
    assert answer.status_code == 410
    assert "Event 3 was removed on 2026-11-20 by retention of 90 days" in answer.text


def test_where_pages_are_open_events_are_read(site, judged, make_bundle):
    judged(site.engine, make_bundle(pairs=4))

    assert "Event 1" in site.get(PATH).text
    assert "Event 1" in site.get("/octo/models").text
    assert site.client.post(f"{PATH}/state", data={"state": "open"}).status_code == 404
