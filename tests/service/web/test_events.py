"""Tests `/api/v1/events` over real HTTP: what is read, and who may decide."""

import pytest

from perfledger_service.usecases.server.project import add_project
from perfledger_service.values.token_scope import TokenScope

TOKEN = "pl_0123abcd_" + "s" * 43
OTHER_TOKEN = "pl_4567cdef_" + "t" * 43
MAINTAINER = "pl_89abcdef_" + "u" * 43
ROUTE = "/api/v1/events"
EXPECTED = {"state": "expected", "reason": "safer math", "owner": "alice"}


@pytest.fixture
def slowed(site, judged, make_bundle, now):
    """A site with one event of octo/models, and a maintainer's token."""
    judged(site.engine, make_bundle(pairs=4))
    add_project(site.engine, "octo/models", token=MAINTAINER, now=now, scope=TokenScope.MAINTAIN)
    return site


def put(site, body, *, token, event=1):
    headers = {"Authorization": f"Bearer {token}"}
    return site.client.put(f"{ROUTE}/{event}/state", json=body, headers=headers)


def read(site, path, **headers):
    return site.client.get(path, headers={"Authorization": f"Bearer {TOKEN}", **headers})


def test_an_event_has_its_state_and_its_series(slowed):
    answer = slowed.get(ROUTE, token=TOKEN).json()

    assert (answer["repository"], answer["next"]) == ("octo/models", None)
    [event] = answer["items"]
    assert (event["id"], event["state"], event["pull_request"]) == (1, "open", 7)
    [series] = event["series"]
    assert series["change"] == pytest.approx(0.2, abs=0.01)
    assert slowed.get(f"{ROUTE}?state=fixed&state=expected", token=TOKEN).json()["items"] == []
    assert slowed.get(f"{ROUTE}?limit=0", token=TOKEN).status_code == 422


def test_events_are_read_page_by_page_newest_first(slowed, judged, make_bundle):
    for number in (8, 9):
        bundle = make_bundle(pairs=4, seed=number, pull_request=number)
        judged(slowed.engine, bundle, upload_id=str(number) * 32)
    path: str | None = f"{ROUTE}?state=open&state=fixed&limit=1"
    pages = []
    while path is not None:
        answer = read(slowed, path)
        pages.append([event["id"] for event in answer.json()["items"]])
        path = answer.json()["next"]
        assert answer.headers.get("link") == (path and f'<{path}>; rel="next"')

    assert pages == [[3], [2], [1]]


def test_a_cursor_of_events_belongs_to_all_of_their_states(slowed, judged, make_bundle):
    judged(slowed.engine, make_bundle(pairs=4, seed=8, pull_request=8), upload_id="8" * 32)
    path = f"{ROUTE}?state=open&state=fixed&limit=1"
    next_path = read(slowed, path).json()["next"]

    assert read(slowed, next_path).status_code == 200
    assert read(slowed, next_path.replace("state=open&", "")).status_code == 422
    assert read(slowed, next_path.replace("state=open", "state=expected")).status_code == 422


@pytest.mark.parametrize("path", [ROUTE, f"{ROUTE}/1"])
def test_an_event_that_a_client_has_is_not_sent_again_until_its_state_changes(slowed, path):
    etag = read(slowed, path).headers["etag"]
    again = read(slowed, path, **{"If-None-Match": etag})

    assert (again.status_code, again.content) == (304, b"")
    set_answer = put(slowed, EXPECTED, token=MAINTAINER)
    assert "etag" not in set_answer.headers
    assert read(slowed, path, **{"If-None-Match": etag}).status_code == 200


def test_a_maintainer_sets_a_state_under_the_tokens_name(slowed):
    answer = put(slowed, EXPECTED, token=MAINTAINER)

    assert answer.status_code == 200
    assert answer.json()["event"]["state"] == "expected"
    assert answer.json()["event"]["set_by"] == "pl_89abcdef"
    notes = slowed.get(f"{ROUTE}/1", token=TOKEN).json()["notes"]
    assert [note["author"] for note in notes] == ["", "pl_89abcdef"]


def test_who_may_only_upload_decides_nothing_and_who_maintains_uploads_nothing(slowed, make_bundle):
    refused = put(slowed, EXPECTED, token=TOKEN)

    assert refused.status_code == 403
    assert "may maintain" in refused.text
    assert slowed.upload(make_bundle(seed=9), token=MAINTAINER).status_code == 403


def test_another_projects_event_is_not_there(slowed):
    assert slowed.get(ROUTE, token=OTHER_TOKEN).json()["items"] == []
    assert slowed.get(f"{ROUTE}/1", token=OTHER_TOKEN).status_code == 404


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"state": "fixed", "reason": "it is"}, 400),
        ({"state": "expected", "reason": "it is"}, 400),
        ({"state": "closed", "reason": "it is"}, 422),
        ({"state": "open"}, 422),
    ],
)
def test_a_state_that_nobody_can_set_is_refused(slowed, body, status):
    assert put(slowed, body, token=MAINTAINER).status_code == status
