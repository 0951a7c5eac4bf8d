"""The harness as the agent starts it: a real child, and workloads that do their worst."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import perfledger
from perfledger.__main__ import main
from perfledger.protocol import ChildRequest, Command

HOSTILE = """
import os, random, sys
import perfledger

def fine():
    return lambda: sum(range(10))

@perfledger.workload()
def a_prints():
    print("on standard output")
    print('{"version":1,"event":"done"}')
    def step():
        os.write(1, b"\\xff\\x00 garbage \\n")
        os.write(2, b"\\xff\\x00 garbage \\n")
    return step

@perfledger.workload()
def b_raises():
    raise ValueError("boom")

@perfledger.workload()
def c_exits():
    def step():
        sys.exit(0)
    return step

@perfledger.workload()
def d_needs_too_much():
    raise MemoryError

@perfledger.workload()
def e_forks_in_set_up():
    os.fork()
    return lambda: None

@perfledger.workload()
def f_forks_in_the_step():
    return lambda: os.fork()

@perfledger.workload()
def g_forks_and_raises():
    if os.fork() == 0:
        raise ValueError("in the child")
    return lambda: None

@perfledger.workload()
def h_wanders():
    os.chdir("/")
    random.seed(1)
    return lambda: None

@perfledger.workload()
def i_closes():
    os.closerange(3, 21)
    return lambda: None

@perfledger.workload()
def j_is_fine():
    assert os.getcwd() == os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    return lambda: sum(range(10))
"""


@pytest.fixture(scope="module")
def hostile(tmp_path_factory, run_child):
    """One child that measures all of them in its forks, one after another."""
    root = tmp_path_factory.mktemp("hostile")
    (root / "benchmarks").mkdir()
    (root / "benchmarks/hostile.py").write_text(HOSTILE)
    return run_child(root, Command.MEASURE, is_forking=True)


@pytest.mark.parametrize(
    ("name", "event", "reason"),
    [
        ("a_prints", "run", None),
        ("b_raises", "failed", "raised"),
        ("c_exits", "failed", "raised"),
        ("d_needs_too_much", "failed", "out of memory"),
        ("e_forks_in_set_up", "run", None),
        ("f_forks_in_the_step", "run", None),
        ("g_forks_and_raises", "run", None),
        ("h_wanders", "run", None),
        ("i_closes", "run", None),
        ("j_is_fine", "run", None),
    ],
)
def test_whatever_a_workload_does_it_has_one_answer_of_its_own(hostile, name, event, reason):
    messages = [each for each in hostile.messages if each["event"] not in {"sampling", "ended"}]
    about = [each for each in messages if each.get("workload", "").endswith(f":{name}")]

    assert [each["event"] for each in about] == ["started", event]
    assert about[-1].get("reason") == reason


def test_the_errand_is_done_once_and_ends_well(hostile):
    assert len(hostile.of("done")) == 1
    assert hostile.status == 0


def test_what_a_workload_prints_stays_on_its_own_descriptors(hostile):
    assert "on standard output" in hostile.stdout
    assert "garbage" in hostile.stdout
    assert "garbage" in hostile.stderr


def test_the_traceback_of_what_failed_is_on_standard_error(hostile):
    assert "ValueError: boom" in hostile.stderr


@pytest.mark.slow
def test_files_and_folders_named_like_ours_or_the_librarys_do_no_harm(write, run_child):
    folders = ("service", "runners", "baselines", "cost_models", "templates")
    files = {f"{folder}/__init__.py": "WHOSE = 'theirs'\n" for folder in folders}
    files |= {
        f"{name}.py": "raise RuntimeError('imported by mistake')\n"
        for name in ("statistics", "tokenize", "json", "channel", "measure", "protocol")
    }
    text = (
        f"import perfledger\nimport {', '.join(folders)}\n"
        "@perfledger.workload()\n"
        "def work():\n"
        f"    assert {{m.WHOSE for m in ({', '.join(folders)},)}} == {{'theirs'}}\n"
        "    return lambda: None\n"
        "@perfledger.workload()\n"
        "def bad():\n"
        "    raise ValueError('boom')\n"
    )

    answer = run_child(write({**files, "benchmarks/a.py": text}), Command.MEASURE)

    assert answer.about("benchmarks.a:work")["event"] == "run", answer
    assert answer.about("benchmarks.a:bad")["detail"] == "ValueError: boom (benchmarks/a.py:9)"
    assert "imported by mistake" not in answer.stderr


@pytest.mark.slow(ci_only=True)
def test_the_workload_meets_no_arguments_and_no_descriptor_of_ours(write, run_child):
    text = (
        "import os, sys, perfledger\n"
        "@perfledger.workload()\n"
        "def work():\n"
        "    assert sys.argv[1:] == [], sys.argv\n"
        "    assert 'PERFLEDGER_FD' not in os.environ\n"
        "    return lambda: None\n"
    )

    answer = run_child(write({"benchmarks/a.py": text}), Command.MEASURE)

    assert answer.about("benchmarks.a:work")["event"] == "run", answer


@pytest.mark.slow
def test_a_workload_that_ends_the_process_leaves_the_answers_before_it(write, run_child):
    text = (
        "import os, perfledger\n"
        "@perfledger.workload()\n"
        "def a():\n"
        "    return lambda: None\n"
        "@perfledger.workload()\n"
        "def b():\n"
        "    os._exit(0)\n"
    )

    answer = run_child(write({"benchmarks/a.py": text}), Command.MEASURE)

    assert answer.about("benchmarks.a:a")["event"] == "run"
    assert answer.messages[-1]["event"] == "started"
    assert answer.of("done") == ()


LIBRARY_USER = """
import perfledger
@perfledger.workload()
def work():
    import mylib
    assert mylib.WHERE == "tree"
    return lambda: None
"""


@pytest.fixture
def two_checkouts(write, tmp_path):
    """A user's own checkout, importable as an editable install makes it, and a worktree."""
    write({"repository/src/mylib.py": "WHERE = 'repository'\n"})
    write({"tree/src/mylib.py": "WHERE = 'tree'\n", "tree/benchmarks/a.py": LIBRARY_USER})
    return tmp_path / "tree", tmp_path / "repository"


@pytest.mark.slow
def test_the_worktrees_own_src_comes_before_an_editable_install(two_checkouts, run_child):
    tree, own = two_checkouts

    answer = run_child(tree, Command.MEASURE, repository=str(own), python_path=[own / "src"])

    assert answer.about("benchmarks.a:work")["event"] == "run", answer


@pytest.mark.slow
def test_an_editable_install_that_wins_is_not_measured(two_checkouts, run_child):
    tree, own = two_checkouts
    (tree / "benchmarks/a.py").write_text(LIBRARY_USER.replace('"tree"', '"repository"'))

    answer = run_child(
        tree,
        Command.MEASURE,
        repository=str(own),
        python_path=[own / "src"],
        import_paths=(".",),
    )

    failed = answer.about("benchmarks.a:work")
    assert (failed["event"], failed["reason"]) == ("failed", "wrong code")


@pytest.mark.slow
def test_a_package_of_the_users_named_perfledger_is_said_for_every_workload(write, run_child):
    root = write({"perfledger/__init__.py": "", "benchmarks/a.py": LIBRARY_USER})

    answer = run_child(root, Command.MEASURE, workloads=("benchmarks.a:work",))

    failed = answer.about("benchmarks.a:work")
    assert failed["reason"] == "wrong code"
    assert "your repository has a package named perfledger" in failed["detail"]


@pytest.mark.parametrize(
    ("arguments", "environment"),
    [
        pytest.param([], {"PERFLEDGER_FD": "3"}, id="no request"),
        pytest.param(["r.json"], {}, id="no descriptor"),
        pytest.param(["r.json"], {"PERFLEDGER_FD": "stdout"}, id="no number"),
    ],
)
def test_started_by_anybody_else_it_says_what_to_run_instead(arguments, environment, capsys):
    assert main(arguments, environment) == 2
    assert "run `perfledger check` instead" in capsys.readouterr().err


@pytest.mark.usefixtures("clean_process")
def test_the_door_reads_the_request_and_answers(write, tmp_path, monkeypatch):
    root = write({"repository/benchmarks/a.py": "import perfledger\n"}) / "repository"
    ChildRequest(command=Command.LIST, root=str(root), repository=str(root)).write(
        tmp_path / "r.json"
    )
    monkeypatch.setattr(sys, "argv", ["perfledger", "r.json"])
    reader, writer = os.pipe()

    assert main([str(tmp_path / "r.json")], {"PERFLEDGER_FD": str(writer)}) == 0
    assert os.read(reader, 65_536).endswith(b'"event":"done"}\n')
    assert os.read(reader, 1) == b""
    assert sys.argv == ["perfledger"]
    os.close(reader)


@pytest.mark.slow
def test_the_sdk_needs_the_standard_library_only():
    source_root = str(Path(perfledger.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-P", "-S", "-c", "import perfledger.__main__"],  # -S: nothing installed
        env={"PYTHONPATH": source_root},
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, "")
