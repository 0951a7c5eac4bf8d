"""Tests which files are given to a profile reader, and how its errors name them."""

import json
import os

import pytest

from perfledger.records import Side
from perfledger_runners.measuring.profile_runs import ReaderError
from perfledger_service.errors import NotFoundError, UsageError
from perfledger_service.usecases.trace.profile_files import (
    check_profile_file,
    named_errors,
    read_profile_file,
)


def chrome_trace(steps=4):
    """Return a Chrome trace as torch.profiler writes them, made up: steps of 1 ms."""
    events = [
        {
            "ph": "X",
            "pid": 1,
            "tid": 1,
            "ts": 1000 * number,
            "dur": 1000,
            "cat": "user_annotation",
            "name": f"ProfilerStep#{number}",
        }
        for number in range(steps)
    ]
    return json.dumps({"schemaVersion": 1, "traceEvents": events})


@pytest.mark.slow(ci_only=True)
def test_a_trace_is_read_for_its_workload_and_side(tmp_path):
    path = tmp_path / "one.json"
    path.write_text(chrome_trace())

    profile = read_profile_file(path, workload="gpt:step", side=Side.BASE)

    assert (profile.workload, profile.side) == ("gpt:step", Side.BASE)
    assert profile.tool == "torch.profiler"
    assert profile.step_seconds == pytest.approx(1e-3)


@pytest.mark.slow
@pytest.mark.parametrize(
    "content",
    [
        *(pytest.param(text, marks=pytest.mark.slow(ci_only=True)) for text in ("", "hello")),
        "{}",
        "[" * 10_000,
    ],
)
def test_a_file_that_is_no_trace_is_an_error_of_one_line(tmp_path, content):
    path = tmp_path / "odd.json"
    path.write_text(content)

    with pytest.raises(UsageError) as refused:
        read_profile_file(path, workload="gpt:step", side=Side.HEAD)

    assert "odd.json" in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(NotFoundError, match=r"^there is no file /.*/absent\.json: check the path$"):
        check_profile_file(tmp_path / "absent.json")


def test_a_folder_without_a_profilers_file_says_what_such_a_file_is_called(tmp_path):
    (tmp_path / "notes.txt").touch()

    with pytest.raises(UsageError, match=r"is a folder: .* such as trace\.json or xplane\.pb$"):
        check_profile_file(tmp_path)


@pytest.mark.parametrize(
    "name", ["host.xplane.pb", "host.1.pt.trace.json", "host.1.pt.trace.json.gz"]
)
def test_a_profilers_folder_says_which_of_its_files_is_the_newest(tmp_path, name):
    older, newer = (tmp_path / "plugins" / "profile" / day for day in ("2", "1"))
    for number, folder in enumerate((older, newer)):
        folder.mkdir(parents=True)
        (folder / name).touch()
        (folder / "later.txt").touch()
        os.utime(folder / name, (100 + number, 100 + number))

    with pytest.raises(UsageError, match=f"such as plugins/profile/1/{name} in it$"):
        check_profile_file(tmp_path)


def test_a_link_to_nowhere_is_older_than_any_file(tmp_path):
    (tmp_path / "b.xplane.pb").symlink_to(tmp_path / "absent")
    (tmp_path / "a.xplane.pb").touch()

    with pytest.raises(UsageError, match=r"such as a\.xplane\.pb in it$"):
        check_profile_file(tmp_path)


def test_a_foreign_name_is_shown_without_what_a_terminal_obeys(tmp_path):
    (tmp_path / "\x1b[31m.xplane.pb").touch()

    with pytest.raises(UsageError, match=r"such as \[31m\.xplane\.pb in it$"):
        check_profile_file(tmp_path)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("it has no step", "one.json: it has no step"),
        ("one.json has no step", "one.json has no step"),
    ],
)
def test_an_error_of_a_reader_names_the_file_once(tmp_path, words, message):
    with pytest.raises(UsageError) as refused, named_errors(tmp_path / "one.json") as name:
        raise ReaderError(words)

    assert (name, str(refused.value)) == ("one.json", message)


def test_other_errors_pass(tmp_path):
    with pytest.raises(ZeroDivisionError), named_errors(tmp_path / "one.json"):
        raise ZeroDivisionError
