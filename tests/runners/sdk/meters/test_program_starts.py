"""Real programs that a program starts, and the record of both."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from perfledger.meters.program_starts import MAX_PROGRAMS, STARTS, listener, sitecustomize


@pytest.fixture
def record(tmp_path):
    folder = tmp_path / "a record"
    folder.mkdir()
    (folder / STARTS).touch()
    (folder / "sitecustomize.py").write_text(sitecustomize(str(folder)))
    return folder


def words(record):
    lines = (record / STARTS).read_text().splitlines()
    return [json.loads(line)[0] for line in lines]


@pytest.mark.parametrize(
    ("event", "arguments", "expected"),
    [
        (
            "subprocess.Popen",
            ("/bin/a", ["b", b"c"], "/tmp", {"PATH": "/bin", b"PYTHONPATH": b"x", "HOME": "/"}),
            [["/bin/a", "c"], {"PATH": "/bin", "PYTHONPATH": "x"}, "/tmp"],
        ),
        ("subprocess.Popen", (None, "a b", "/tmp", {}), [["a b"], {}, "/tmp"]),
        ("os.posix_spawn", ("/bin/a", ["a"], {}), [["/bin/a"], {}, str(Path.cwd())]),
        ("os.exec", (b"/bin/a", [], {}), [[], {}, str(Path.cwd())]),
    ],
)
def test_a_program_is_recorded_with_what_decides_what_it_runs(record, event, arguments, expected):
    listener(str(record))(event, arguments)

    assert json.loads((record / STARTS).read_text()) == expected


def test_a_program_has_this_ones_variables_unless_it_has_its_own(record, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", "here")
    monkeypatch.setenv("PATH", "/bin")
    listener(str(record))("os.system", (b"a; b",))

    (line,) = (record / STARTS).read_text().splitlines()
    assert json.loads(line)[:2] == [
        ["sh", "-c", "a; b"],
        {"PYTHONPATH": "here", "PATH": "/bin"},
    ]


def test_what_is_no_start_is_not_recorded_and_never_fails(record):
    hear = listener(str(record))
    for event, arguments in (
        ("open", ("a",)),
        ("subprocess.Popen", ()),
        ("subprocess.Popen", (None, 3, None, None)),
        ("os.exec", ("a", ["a"], 7)),
    ):
        hear(event, arguments)
    assert words(record) == []

    (record / STARTS).unlink()
    hear("os.exec", ("a", ["a"], {}))
    assert not (record / STARTS).exists()


def test_a_process_records_no_more_programs_than_it_may(record):
    hear = listener(str(record))
    for number in range(MAX_PROGRAMS + 1):
        hear("os.exec", (None, [str(number)], {}))

    assert len(words(record)) == MAX_PROGRAMS


@pytest.mark.slow
def test_programs_record_what_they_start_in_turn(record):
    inner = "import os; os.system('true inner')"
    outer = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {inner!r}], check=True)"
    variables = {**os.environ, "PYTHONPATH": str(record)}

    subprocess.run([sys.executable, "-c", outer], env=variables, check=True)

    assert words(record) == [[sys.executable, "-c", inner], ["sh", "-c", "true inner"]]


@pytest.mark.slow
def test_a_programs_own_sitecustomize_runs(record, tmp_path):
    own = tmp_path / "own"
    own.mkdir()
    (own / "sitecustomize.py").write_text("import builtins\nbuiltins.OWN = True\n")
    code = (
        "import builtins, sys, sitecustomize\n"
        "print(getattr(builtins, 'OWN', False), sitecustomize.__file__, *sys.path, sep='\\n')"
    )
    lines = []
    for folders in ((record, own), (record,)):
        variables = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, folders))}
        done = subprocess.run(
            [sys.executable, "-c", code], env=variables, check=True, capture_output=True, text=True
        )
        assert done.stderr == ""
        lines.append(done.stdout.splitlines())

    assert lines[0][:2] == ["True", str(own / "sitecustomize.py")]
    assert str(record) not in lines[0]
    assert lines[1][0] == "False"


@pytest.mark.slow
def test_a_record_that_cannot_be_made_disturbs_no_program(record):
    (record / "sitecustomize.py").write_text(
        sitecustomize(str(record)).replace("program_starts.py", "gone.py")
    )

    done = subprocess.run(
        [sys.executable, "-c", "print('runs')"],
        env={**os.environ, "PYTHONPATH": str(record)},
        check=True,
        capture_output=True,
        text=True,
    )

    assert (done.stdout, done.stderr) == ("runs\n", "")
