import json
import logging

import pytest
import structlog

from perfledger_service.web.logs import REDACTED, redact

CANARIES = {
    "personal": "ghp_0123456789abcdefghijABCDEFGHIJ012345",
    "installation": "ghs_0123456789abcdefghijABCDEFGHIJ012345",
    "fine-grained": "github_pat_11ABCDEFG0_abcdefghijklmnop",
    "ours": "pl_0123abcd_" + "s-_" * 14 + "s",
    "jwt": "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiIxIn0.c2lnbmF0dXJl",
    "pem": "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\n-----END RSA PRIVATE KEY-----",
    "cut pem": "-----BEGIN PRIVATE KEY-----\nMIIEow",
}


@pytest.mark.parametrize("canary", CANARIES.values(), ids=CANARIES.keys())
def test_secrets_are_taken_out_by_their_look(canary):
    event = redact(None, "info", {"event": f"sent {canary} there", "deep": [{"a": canary}]})

    assert canary.splitlines()[-1] not in str(event)
    assert "MIIEow" not in str(event)
    assert event["event"].startswith(f"sent {REDACTED}")


@pytest.mark.parametrize(
    "name", ["Authorization", "github_token", "client_secret", "private_key", "Set-Cookie"]
)
def test_secrets_are_taken_out_by_their_name(name):
    assert redact(None, "info", {name: "whatever", "in": {name: "x"}}) == {
        name: REDACTED,
        "in": {name: REDACTED},
    }


def test_what_follows_bearer_is_taken_out():
    event = redact(None, "info", {"event": "Authorization: Bearer abc.def rest"})

    assert event == {"event": f"Authorization: Bearer {REDACTED} rest"}


def test_the_password_of_a_database_is_taken_out():
    event = redact(None, "info", {"event": "postgresql://me:hunter2@host/db is away"})

    assert event == {"event": f"postgresql://{REDACTED}@host/db is away"}


def test_other_things_stay_as_they_are():
    event = {"event": "taken in", "status": 202, "is_new": True, "none": None, "share": 0.5}

    assert redact(None, "info", event) == event


def test_a_log_line_is_json_with_time_and_level(log):
    structlog.stdlib.get_logger("perfledger").info("taken in", upload="1" * 32)
    line = json.loads(log.getvalue())

    assert (line["event"], line["level"], line["upload"]) == ("taken in", "info", "1" * 32)
    assert line["timestamp"].endswith("Z")


@pytest.mark.parametrize(
    "name", ["dbos", "uvicorn.error", "urllib3", "perfledger_service.workflows"]
)
def test_libraries_log_through_the_same_door(log, name):
    logging.getLogger(name).error("failed with %s", CANARIES["ours"])
    [line] = log.getvalue().splitlines()

    assert json.loads(line)["event"] == f"failed with {REDACTED}"


def test_tracebacks_are_kept_and_their_secrets_are_not(log):
    with pytest.raises(ValueError, match="ghp_") as caught:
        raise ValueError(CANARIES["personal"])
    logging.getLogger("perfledger_service").error("a bug", exc_info=caught.value)
    line = json.loads(log.getvalue())

    assert "Traceback" in line["exception"]
    assert CANARIES["personal"] not in log.getvalue()
