"""Real programs that a step starts with an environment of their own."""

import ctypes
import os
import subprocess
import sys
from pathlib import Path

import pytest

from perfledger.meters import child_processes
from perfledger.package_code import SourcePackage
from perfledger.process.programs.watch import ProgramWatch

pytestmark = pytest.mark.slow

BARE = {"PATH": os.environ["PATH"]}


class Side:
    """A checkout whose package `mine` is also installed as a copy."""

    def __init__(self, folder):
        self.root = folder / "checkout"
        self.site = folder / "venv" / "lib" / "python3" / "site-packages"
        for package in (self.root / "src" / "mine", self.site / "mine"):
            package.mkdir(parents=True)
            (package / "__init__.py").write_text("")
            (package / "__main__.py").write_text("")
        (self.root / "tool.py").write_text("from mine import work\n")
        script = self.root / "run.sh"
        script.write_text("#!/bin/sh\necho begin\npython -I -m mine\n")
        script.chmod(0o755)
        self.command = folder / "venv" / "bin" / "mine-tool"
        self.command.parent.mkdir()
        self.command.write_text(f"#!{sys.executable}\nfrom mine.cli import main\n")
        self.command.chmod(0o755)
        self.path = {**BARE, "PYTHONPATH": str(self.root / "src")}
        self.hooks = []

    def watch(self, package="mine", **options):
        watch = ProgramWatch(
            root=self.root,
            repository=self.root.parent / "users",
            packages=[SourcePackage(package, "src")],
            search_path=[str(self.site)],
            **options,
        )
        watch.watch(self.hooks.append)
        return watch

    def copies(self, words, environment=BARE, **options):
        """Return the folders of the copies that a program imports, as an audit event tells it."""
        watch = self.watch()
        (hook,) = self.hooks
        hook("subprocess.Popen", (None, words, str(options.get("folder", self.root)), environment))
        return [each.folder for each in watch.copies()]


@pytest.fixture
def side(tmp_path):
    return Side(tmp_path)


@pytest.mark.parametrize(
    "words",
    [
        ["python", "-m", "mine"],
        ["/usr/bin/python3.12", "-Im", "mine.cli", "x"],
        ["python3", "-c", "from mine import work"],
        ["python3", "-X", "utf8", "-W", "ignore", "-cimport mine"],
        ["python", "tool.py", "argument"],
        ["/bin/sh", "-c", "cd src; exec python -m mine"],
        ["/bin/sh", "-c", "python -c 'import other' && python -m mine"],
        ["/bin/sh", "-c", "# a comment\necho 'two\nlines'\npython -m mine"],
        ["bash", "run.sh", "argument"],
        ["./run.sh"],
        ["nice", "-n", "5", "python", "-m", "mine"],
        ["python", "-Im", "cProfile", "-m", "mine"],
        ["python", "-Im", "cProfile", "tool.py"],
        ["python", "-Im", "gunicorn", "mine.app:application"],
        ["python", "-Im", "uvicorn", "--factory", "mine.app:make()"],
        ["python", "-Im", "timeit", "-s", "import mine", "mine.work()"],
    ],
)
def test_a_program_without_the_sides_path_imports_the_installed_copy(side, words):
    assert side.copies(words) == [str(side.site / "mine")]


@pytest.mark.parametrize(
    ("code", "count"),
    [
        ("import group.mine", 1),
        ("from group.mine.cli import main", 1),
        ("from group import other, mine", 1),
        ("import group.other", 0),
        ("from group import other; mine = 3", 0),
    ],
)
def test_of_a_namespace_only_the_sides_own_package_counts(side, code, count):
    for name in ("mine", "other"):
        (side.site / "group" / name).mkdir(parents=True)
    watch = side.watch("group.mine")
    (hook,) = side.hooks
    hook("subprocess.Popen", (None, ["python", "-Ic", code], str(side.root), BARE))

    copies = [(each.name, each.folder) for each in watch.copies()]

    assert copies == [("group.mine", str(side.site / "group" / "mine"))] * count


def test_a_script_of_the_installed_copy_says_its_interpreter(side):
    assert side.copies([str(side.command)]) == [str(side.site / "mine")]
    side.hooks.clear()
    assert side.copies([str(side.command)], side.path) == []


@pytest.mark.parametrize(
    ("words", "folder"),
    [
        (["python", "-m", "mine"], "src"),
        (["python", "-c", "import other"], "."),
        (["python", "-c", "import other.mine, mine_too"], "."),
        (["python", "-Im", "http.server", "--directory", "mine"], "."),
        (["python", "-Im", "pip", "install", "mine"], "."),
        (["python", "-Ic", "print('done')", "mine"], "."),
        (["python", "-Imjson", "mine"], "."),
        (["python", "-I", "-m", "other", "--user=mine", "mine/data", "s3:mine"], "."),
        (["python", "-m"], "."),
        (["python", "--version"], "."),
        (["git", "log", "mine"], "."),
        (["sh", "-c", "echo 'mine"], "."),
        (["sh", "-c", "# python -m mine"], "."),
        (["sh", "-c", "echo python; echo -m mine"], "."),
        (["sh"], "."),
        (["sh", "absent.sh"], "."),
        ([], "."),
    ],
)
def test_other_programs_import_no_copy(side, words, folder):
    assert side.copies(words, folder=side.root / folder) == []


@pytest.mark.parametrize(
    ("words", "is_copy"),
    [
        (["python", "-m", "mine"], False),
        (["python", "-Em", "mine"], True),
        (["python", "-I", "-m", "mine"], True),
        (["env", "-i", "python", "-m", "mine"], True),
        (["env", "A=1", "python", "-m", "mine"], False),
        (["env", "PYTHONPATH=/opt", "python", "-m", "mine"], True),
        (["sh", "-c", "PYTHONPATH= python -m mine"], True),
        (["sh", "-c", "PYTHONPATH=src python -m mine"], False),
        (["sh", "-c", "PYTHONPATH=/opt:$PYTHONPATH python -m mine"], False),
    ],
)
def test_the_sides_path_counts_unless_the_program_ignores_it(side, words, is_copy):
    assert bool(side.copies(words, side.path)) is is_copy


@pytest.mark.parametrize(
    ("path", "folder", "is_copy"),
    [("src", ".", False), ("lib:../src", "src", False), ("../src", ".", True)],
)
def test_the_sides_path_may_be_relative_to_the_programs_folder(side, path, folder, is_copy):
    environment = {**BARE, "PYTHONPATH": path}
    copies = side.copies(["python", "-m", "mine"], environment, folder=side.root / folder)

    assert bool(copies) is is_copy


def test_a_copy_in_the_sides_own_environment_is_its_own(side):
    watch = side.watch(environment=str(side.root.parent / "venv"))
    side.hooks[0]("os.posix_spawn", ("/usr/bin/python3", ["python", "-Im", "mine"], BARE))

    assert watch.copies() == ()


def test_an_editable_installation_leads_to_the_users_checkout(side):
    (side.site / "mine" / "__init__.py").unlink()
    (side.site / "mine" / "__main__.py").unlink()
    (side.site / "mine").rmdir()
    assert side.copies(["python", "-Im", "mine"]) == []
    side.hooks.clear()
    users = side.root.parent / "users"
    (side.site / "__editable__.mine.pth").write_text(f"{users}/src\n")

    assert side.copies(["python", "-Im", "mine"]) == [str(users)]


def test_events_with_strange_arguments_are_left_out(side):
    watch = side.watch()
    for event, arguments in (
        ("subprocess.Popen", (None, [3], None, None)),
        ("subprocess.Popen", ()),
        ("os.exec", ("/usr/bin/python3", [b"python", b"-m", b"mine"], {b"A": b"\xff"})),
        ("open", ("mine",)),
    ):
        side.hooks[0](event, arguments)

    assert [each.folder for each in watch.copies()] == [str(side.site / "mine")]


def test_programs_find_the_record_until_it_is_read(side, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", "lib")
    watch = side.watch()
    record, _, path = os.environ["PYTHONPATH"].partition(os.pathsep)
    assert (path, Path(record, "sitecustomize.py").exists()) == ("lib", True)

    watch.copies()

    assert (os.environ["PYTHONPATH"], Path(record).exists()) == ("lib", False)
    monkeypatch.delenv("PYTHONPATH")
    side.watch().copies()
    assert "PYTHONPATH" not in os.environ


def test_programs_that_programs_start_are_seen(side):
    isolated = "import os, sys; os.execv(sys.executable, ['python', '-I', '-c', 'mine = 1'])"
    with_path = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'mine = 1'])"
    folders = []
    for code in (isolated, with_path):
        watch = side.watch()
        path = os.pathsep.join((os.environ["PYTHONPATH"], str(side.root)))
        variables = {**os.environ, "PYTHONPATH": path}
        subprocess.run([sys.executable, "-c", code], env=variables, check=True)
        folders.append([each.folder for each in watch.copies()])

    assert folders == [[str(side.site / "mine")], []]


def test_a_record_that_is_cut_off_tells_what_it_has(side):
    watch = side.watch()
    side.hooks[0]("os.system", ("python -I -m mine",))
    record = Path(os.environ["PYTHONPATH"].partition(os.pathsep)[0], "starts")
    with record.open("a") as file:
        file.write('5\n[[]]\n[["python", "-I')

    assert [each.folder for each in watch.copies()] == [str(side.site / "mine")]


def test_without_packages_nothing_is_watched(side):
    hooks = []
    ProgramWatch(root=side.root, repository=side.root, packages=[]).watch(hooks.append)

    assert hooks == []


def test_real_programs_that_run_or_are_started_are_seen(side):
    waiting = "print('mine', flush=True)\ninput()"
    command, pipes = [sys.executable, "-c", waiting], (subprocess.PIPE, subprocess.PIPE)
    server = subprocess.Popen(command, env=BARE, stdin=pipes[0], stdout=pipes[1])
    try:
        assert server.stdout.readline() == b"mine\n"
        running = side.watch()
    finally:
        server.communicate(b"\n")
    program = (
        "import sys, subprocess\n"
        "from pathlib import Path\n"
        "from perfledger.package_code import SourcePackage\n"
        "from perfledger.process.programs.watch import ProgramWatch\n"
        f"watch = ProgramWatch(root=Path({str(side.root)!r}), repository=Path('/none'),\n"
        "    packages=[SourcePackage('mine', 'src')],\n"
        f"    search_path=[{str(side.site)!r}])\n"
        "watch.watch()\n"
        "subprocess.run([sys.executable, '-c', 'mine = 1'], env={}, check=True)\n"
        "print(*(each.name for each in watch.copies()))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    assert [each.name for each in running.copies()] == ["mine"]
    assert done.stdout.split() == ["mine"]
    assert Path(running.copies()[0].folder) == side.site / "mine"


@pytest.mark.parametrize(
    ("place", "is_recorded"),
    [("cache/fast", True), ("checkout/fast", False), ("venv/bin/fast", False), ("fast", False)],
)
def test_a_program_that_a_package_compiled_into_a_cache_is_seen(side, place, is_recorded):
    program = side.root.parent / place
    program.parent.mkdir(exist_ok=True)
    program.write_bytes(b"\x7fELF and more")
    program.chmod(0o755)
    watch = side.watch(
        caches=[side.root.parent / each for each in ("cache", "checkout", "venv")],
        environment=str(side.root.parent / "venv"),
    )
    (hook,) = side.hooks

    for words in ([str(program)], [str(side.command)], [sys.executable]):
        hook("subprocess.Popen", (None, words, str(side.root), side.path))

    recorded = watch.copies()
    assert [each.name for each in recorded] == ["fast"] * is_recorded
    assert [each.path for one in recorded for each in one.compiled] == [str(program)] * is_recorded


@pytest.mark.parametrize(
    ("mapped", "is_copy"),
    [
        ("{site}/mine/fast.so", True),
        ("{site}/other/mine/fast.so", False),
        ("{site}/fast.so", False),
    ],
)
def test_a_copy_that_only_a_fork_imports_is_seen(side, monkeypatch, tmp_path, mapped, is_copy):
    maps = tmp_path / "proc" / "7" / "maps"
    maps.parent.mkdir(parents=True)
    maps.write_text(f"7f00-7f01 r-xp 0000 08:01 1 {mapped.format(site=side.site)}\n")
    monkeypatch.setattr(child_processes, "PROCESSES", tmp_path / "proc")
    monkeypatch.setattr(child_processes, "has_children", lambda: True)
    monkeypatch.setattr(child_processes, "descendants", lambda: [7, 8])
    watch = side.watch()

    assert [each.folder for each in watch.copies()] == [str(side.site / "mine")] * is_copy


MAKEFILE = """all:
\t@{python} -I -c "import sys; sys.path.insert(0, {place!r}); import mine"
"""


@pytest.mark.parametrize("is_copy", [True, False])
def test_what_a_program_that_is_no_python_starts_is_seen_by_the_copy_that_it_opens(side, is_copy):
    place = side.site if is_copy else side.root / "src"
    (side.root / "Makefile").write_text(MAKEFILE.format(python=sys.executable, place=str(place)))
    watch = side.watch()
    subprocess.run(["make", "-C", str(side.root)], check=True, stdout=subprocess.DEVNULL)

    assert [each.folder for each in watch.copies()] == [str(side.site / "mine")] * is_copy


def test_a_copy_that_is_opened_while_the_step_starts_nothing_is_not_the_steps(side, monkeypatch):
    monkeypatch.setattr(child_processes, "has_children", lambda: False)
    watch = side.watch()
    (side.site / "mine" / "__init__.py").read_text()

    assert watch.copies() == ()


@pytest.mark.parametrize("is_started", [True, False])
@pytest.mark.parametrize("has_watches", [True, False])
def test_programs_that_may_open_a_copy_unnoticed_are_reported(
    side, monkeypatch, is_started, has_watches
):
    if not has_watches:
        monkeypatch.setattr(ctypes, "CDLL", lambda _: None)
    # Children of earlier tests may still run.
    monkeypatch.setattr("perfledger.process.programs.watch._running_programs", list)
    monkeypatch.setattr("perfledger.process.programs.watch._faults_of_children", lambda: 0)
    watch = side.watch()
    if is_started:
        side.hooks[0]("subprocess.Popen", (None, ["make"], str(side.root), BARE))
    monkeypatch.setattr(child_processes, "has_children", lambda: False)

    watch.copies()

    assert watch.has_unseen_programs == (is_started and not has_watches)
