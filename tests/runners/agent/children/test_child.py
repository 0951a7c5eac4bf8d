"""One child process: its log, its end, and the variables that it did not get."""

import os
import signal
from contextlib import closing
from dataclasses import replace

import pytest

from perfledger_runners.children.child import MAX_LOG_BYTES, Child

pytestmark = pytest.mark.slow


def test_a_log_that_grows_is_cut_down_to_its_end(harness, request_for, tmp_path):
    child = Child(harness, request_for(tmp_path))
    child.close()
    log = next(harness.folder.glob("child-*/log"))
    log.write_bytes(b"0123456789")
    assert [child.log_tail(since=since) for since in (3, 10, 11)] == ["3456789", "", "0123456789"]
    with log.open("ab") as file:
        file.truncate(MAX_LOG_BYTES + 1)
        file.seek(0, os.SEEK_END)
        file.write(b"the end")

    child.trim_log()

    assert log.stat().st_size <= 16 * 1024 * 3  # a NUL is shown by three bytes
    assert child.log_tail().endswith("the end")


def test_a_child_knows_which_variables_it_did_not_get(harness, request_for, tmp_path):
    poor = replace(harness, environment={"PATH": os.environ["PATH"], "WANDB_API_KEY": "canary"})

    with closing(Child(poor, request_for(tmp_path))) as child:
        assert "WANDB_API_KEY" in child.withheld_note("KeyError")
        assert child.withheld_hint("KeyError: 'WANDB_API_KEY'").startswith("WANDB_API_KEY is set")
        assert child.withheld_hint("KeyError: 'PATH'") == ""
        assert "canary" not in child.withheld_note("KeyError")


def test_what_ended_a_child_is_known_after_it_is_closed(harness, request_for, tmp_path):
    killed, closed = (Child(harness, request_for(tmp_path)) for _ in range(2))
    os.kill(killed.process_id, signal.SIGKILL)
    while not killed.has_exited():
        killed.read()

    for child in (killed, closed):
        child.close()

    assert [child.was_killed() for child in (killed, closed)] == [True, False]
