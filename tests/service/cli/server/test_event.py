"""`perfledger server event`: lists events, sets their states, reports what there is to decide."""

import json

import pytest

from perfledger_service.errors import UsageError

EVER = ("--days", "36500")  # the events are of a fixed day


@pytest.fixture
def event(run, database_url, engine, judged, make_bundle):
    """A command on a project whose pull request 7 made two workloads a fifth slower."""
    judged(engine, make_bundle(workloads=("gpt:step", "gpt:other"), pairs=4))

    def event(name, *words):
        return run(
            *("server", "event", name, "octo/models", *words), PERFLEDGER_DATABASE_URL=database_url
        )

    return event


def test_an_event_is_listed_with_its_largest_change(event):
    output = event("list")

    assert all(len(line) <= 80 for line in output.splitlines())
    assert "+20." in output
    assert "and 1 more" in " ".join(output.split())
    [listed] = json.loads(event("list", "--json"))["events"]
    assert (listed["id"], listed["harm"], listed["state"], listed["where"]) == (
        1,
        "worse",
        "open",
        "#7",
    )
    assert {one["workload"] for one in listed["series"]} == {"gpt:step", "gpt:other"}


def test_a_state_is_set_shown_and_audited(event):
    event("set", "1", "expected", "--reason", "safer math", "--owner", "alice")

    assert json.loads(event("list", "--state", "open", "--json"))["events"] == []
    document = json.loads(event("show", "1", "--json"))
    assert document["events"][0]["reason"] == "safer math"
    assert [note["state"] for note in document["notes"]] == ["open", "expected"]
    assert document["notes"][1]["note"] == "safer math; owner alice"
    assert "(measured)" in event("show", "1")


def test_what_nobody_can_set_is_refused(event):
    with pytest.raises(UsageError, match="an event cannot be set to fixed"):
        event("set", "1", "fixed", "--reason", "it is")


def test_the_report_says_what_there_is_to_decide_as_markdown_too(event):
    assert "1 regression to decide" in event("triage", *EVER)
    assert event("triage", *EVER, "--format", "markdown").startswith("### 1 regression to decide")
    report = json.loads(event("triage", *EVER, "--json"))
    assert [one["id"] for one in report["to_decide"]] == [1]
    assert report["notes"] != []


def test_a_project_without_events_has_nothing_to_decide(run, database_url):
    environment = {"PERFLEDGER_DATABASE_URL": database_url}
    run("server", "project", "add", "octo/quiet", **environment)

    assert run("server", "event", "list", "octo/quiet", **environment).startswith("No events.")
    assert "Nothing." in run("server", "event", "triage", "octo/quiet", **environment)
