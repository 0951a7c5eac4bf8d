"""The badge over HTTP: who may see it, and that a copy is only used while it is true."""

from perfledger_service.store.branch_commits import put_places
from perfledger_service.store.database import write_session

BADGE = "/octo/models/badge.svg"


def test_a_badge_is_a_picture_that_other_sites_may_show(site):
    answer = site.get(BADGE)

    assert answer.status_code == 200
    assert answer.headers["content-type"] == "image/svg+xml"
    assert answer.headers["cross-origin-resource-policy"] == "cross-origin"
    assert "default-src 'self'" in answer.headers["content-security-policy"]
    assert "octo/models: unknown" in answer.text


def test_a_copy_is_used_until_the_state_changes(site, make_bundle, judged):
    first = site.get(BADGE)
    tag = first.headers["etag"]
    texts = {"If-None-Match": f'"other", W/{tag}'}
    same = site.client.get(BADGE, headers=texts)
    upload = judged(site.engine, make_bundle(pull_request=None))
    with write_session(site.engine) as session:
        put_places(session, upload.project_id, {upload.head_sha: 1})
        session.commit()
    changed = site.client.get(BADGE, headers=texts)

    assert first.headers["cache-control"] == "no-cache"
    assert (same.status_code, same.content, same.headers["etag"]) == (304, b"", tag)
    assert changed.status_code == 200
    assert "regressed" in changed.text


def test_an_unknown_project_has_no_badge(site):
    assert site.get("/octo/none/badge.svg").status_code == 404


def test_who_may_not_see_a_project_does_not_see_its_badge(browser_of):
    alice, bob = browser_of("alice"), browser_of("bob")
    stranger = browser_of("x", is_signed_in=False)

    own = alice.get(BADGE)

    assert stranger.get(BADGE, headers={"Accept": "image/*"}).status_code == 401
    assert bob.get(BADGE).status_code == 404
    assert own.status_code == 200
    assert own.headers["cache-control"] == "private, no-cache"
    assert own.headers["cross-origin-resource-policy"] == "same-origin"
