"""Tests `/api/v1/checks` over real HTTP: a runner announces a check before it measures."""

from datetime import timedelta

import pytest

from perfledger_service.usecases.uploads import machine_classes

TOKEN = "pl_0123abcd_" + "s" * 43
ROUTE = "/api/v1/checks"
ANNOUNCEMENT = {
    "pull_request": 7,
    "head_sha": "b" * 40,
    "machine_classes": ["cuda:*H100*:1", "cuda:*A100*:1"],
}


def announce(site, *, token=TOKEN, **values):
    headers = {"Authorization": f"Bearer {token}"}
    return site.client.post(ROUTE, json=ANNOUNCEMENT | values, headers=headers)


def test_an_announced_check_is_posted_now_and_at_its_deadline(site, now):
    answer = announce(site)

    assert answer.status_code == 202
    assert answer.json() == {
        "repository": "octo/models",
        "pull_request": 7,
        "head_sha": "b" * 40,
        "classes": [
            {"machine_class": "cuda:*H100*:1", "deadline": "2026-11-20T18:00:00Z"},
            {"machine_class": "cuda:*A100*:1", "deadline": "2026-11-20T18:00:00Z"},
        ],
    }
    assert [check.due_at for check in site.jobs.checks] == [now, now + timedelta(hours=6)]


def test_a_merge_groups_check_is_announced_without_a_pull_request(site, now):
    answer = announce(site, pull_request=None)

    assert (answer.status_code, answer.json()["pull_request"]) == (202, None)
    assert [(one.pull_request, one.due_at) for one in site.jobs.checks] == [
        (0, now),
        (0, now + timedelta(hours=6)),
    ]


def test_an_announcement_may_be_repeated(site):
    first = announce(site)

    assert announce(site, class_deadline_s=60).json() == first.json()
    assert {check.id for check in site.jobs.checks} == {check.id for check in site.jobs.checks[:2]}


def test_another_class_is_added_to_those_of_the_head(site):
    announce(site)
    answer = announce(site, machine_classes=["tpu:*:4"], class_deadline_s=60)

    assert [one["machine_class"] for one in answer.json()["classes"]] == [
        "cuda:*H100*:1",
        "cuda:*A100*:1",
        "tpu:*:4",
    ]


def test_nobody_announces_a_check_without_a_token(site):
    answer = announce(site, token="pl_0123abcd_" + "x" * 43)

    assert answer.status_code == 401
    assert site.jobs.checks == []


@pytest.mark.parametrize(
    "values",
    [
        {"head_sha": "HEAD"},
        {"pull_request": 0},
        {"machine_classes": []},
        {"machine_classes": ["cuda:\n"]},
        {"machine_classes": ["x"] * 33},
        {"class_deadline_s": 0},
        {"class_deadline_s": 1e9},
        {"unknown": 1},
    ],
)
def test_an_impossible_announcement_is_refused(site, values):
    answer = announce(site, **values)

    assert answer.is_client_error
    assert site.jobs.checks == []


def test_a_project_announces_only_so_many_commits_in_an_hour(site, monkeypatch):
    monkeypatch.setattr(machine_classes, "MAX_ANNOUNCED_HEADS", 2)
    heads = [announce(site, head_sha=f"{number:040x}", class_deadline_s=1) for number in (1, 2, 3)]

    assert [answer.status_code for answer in heads] == [202, 202, 429]
    assert "2 commits of octo/models are announced" in heads[-1].json()["detail"]
    assert announce(site, head_sha=f"{1:040x}").status_code == 202
    other = announce(site, token="pl_4567cdef_" + "t" * 43, head_sha=f"{3:040x}")
    assert other.status_code == 202
