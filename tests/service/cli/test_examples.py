"""The examples that stand in the help texts, run as they stand there on the files of `examples`."""

import re
import shlex
import shutil
import signal
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from urllib.request import urlopen

import pytest
from rich.console import Console
from typer.testing import CliRunner

from perfledger_baselines.history.commits.attribution import Harm
from perfledger_baselines.history.commits.tracked_event import EventUpdate, TrackedEvent
from perfledger_cost_models.usage.device_spans import MAX_USAGE_BYTES
from perfledger_runners.jobs.runner_job import RunnerJobKind
from perfledger_service.cli.app import app
from perfledger_service.cli.groups import ROOT, Group, command_at
from perfledger_service.cli.progress import TableBar
from perfledger_service.store.database import open_engine, write_session
from perfledger_service.store.events.events import save_event
from perfledger_service.store.jobs.runner_jobs import NewRunnerJob, add_runner_job
from perfledger_service.store.people.persons import person_for
from perfledger_service.store.projects import project_named
from perfledger_service.usecases.inputs.files import read_named
from perfledger_service.usecases.inputs.imports import file_of_curves, import_file
from perfledger_service.usecases.inputs.load_curves import REQUEST_LATENCY, read_load_curves
from perfledger_service.usecases.notices.notice import set_target
from perfledger_service.usecases.people.roles import grant_role
from perfledger_service.usecases.server.backup import back_up
from perfledger_service.usecases.server.project import add_project
from perfledger_service.values.fleet_views import ImportKind
from perfledger_service.values.notices.notice import NoticeChannel, NoticeTarget
from perfledger_service.values.people.person import Actor, PersonProvider, Role
from perfledger_service.values.report import ExitCode
from tests.service.canary_bundles import add_two_devices
from tests.service.cli.golden_commands import COMMANDS as GOLDEN_COMMANDS, GOLDEN
from tests.service.imported_bundle import add_imported_series

# Each runs a whole command; some start processes.
pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("short_runs")]

EXAMPLES = Path(__file__).parents[3] / "examples"
TOKEN = "pl_0a1b2c3d_" + "s" * 43  # its beginning is the one of the examples
JOB_ID = "1f0c2b7e5d9a48c3b6e1f0a2d4c8b7e6"  # of the job that an example cancels
SITE_TOKEN = "pl_0123abcd_" + "s" * 43  # of the project of the fixture `site`
UPLOAD_URL = "http://127.0.0.1:8765"  # where the examples look for a service
FORMAT = re.compile(r"--format <([a-z|]+)>")
# Of what an example measures, its end counts and not its figures: few pairs, the shortest points.
CONFIG = """
paths = ["benchmarks"]
max_pairs = 4
budget = "10h"
floor = 0.8
margin = 0.9
undecided = "neutral"
"""
SHORT_POINTS = "--seconds-per-point 0.2"
LOW_RATE = "--request-rate 5"  # which a machine under load keeps up with
ROOTS, FEWER_ROOTS = "range(1_000_000)", "range(20_000)"
SLOW_STEP = "return [sum(map(math.sqrt, numbers)) for _ in range(4)]"
STEP = "return sum(map(math.sqrt, numbers))"


def commands(group=ROOT, path=()):
    for name, member in group.members.items():
        if isinstance(member, Group):
            yield from commands(member, (*path, name))
        else:
            yield " ".join((*path, name)), command_at(member)


COMMANDS = dict(commands())
# They run until a signal or a browser comes; minutes in torch and JAX. Each has tests of its own.
OTHERS = {"server run", "server app", "bench builtin"}
OF_REPOSITORY = {"init", "config show", "bench list", "bench load", "bench doctor"}
OF_COMMITS = {"check", "history bisect"}  # their verdicts are measured
FEW_PAIRS, NO_PAIRS = "--pairs 5 --budget 10h", "--pairs 0"
FEW_PROCESSES = "--processes 3"
WITHOUT_PICTURES = "--format json"  # of a review, whose other formats have tests of their own
# Another example of the command, or a test of its own, does the same in less time.
IN_CI = (
    "--bill bill.csv --output review",
    "--bill bill.csv --output review --format json",
    "perfledger bench time 'sum(range(1000))'",
    "perfledger bench time 'sum(range(1000))' --processes 3 --json",
    "--setup 'numbers = list(range(1000))[::-1]'",
    "perfledger plan simulate jobs.csv --nodes 2 --devices-per-node 8",
    "perfledger plan simulate jobs.csv --policy fifo --policy fair --json",
    "perfledger trace diff base.json head.json",
    "--pairs 20 --budget 5m",
    "v1.0 main --budget 30m",
    "v1.0 main --json",
    "v1.0 main --workloads-from .",
    "bench load benchmarks.example:square_roots",
    "bench load benchmarks.example:square_roots --concurrency 1,2,4 --json",
    "--capacity A100-80GB=8 --capacity H100-80GB=4 --json",
    "perfledger server restore backup.zip --json",
    "perfledger check",
    "perfledger check -k 'example and not slow' --budget 2m",
)
WHOLE_CHECK = "perfledger check"  # the only one that has the time to measure
NO_TIME = "--budget 1s"  # ends after the first pairs
OF_SERVICE = {"upload", "history import", "history suspects", "history spreads"}
OF_REPOSITORY_AND_SERVICE = {"announce", "runner"}


def examples(names):
    return [example for name in names for example in COMMANDS[name].examples]


def run(example, **environment):
    """Run an example as a shell does, but for programs beside perfledger; return the result."""
    words = shlex.split(example.partition(" > ")[0])
    while "=" in words[0]:
        name, _, value = words.pop(0).partition("=")
        environment[name] = value
    assert words.pop(0) == "perfledger"
    return CliRunner().invoke(
        app, words, env={"COLUMNS": "80", **environment}, catch_exceptions=False
    )


def git(*arguments):
    identity = ["-c", "user.name=test", "-c", "user.email=test@example.invalid"]
    subprocess.run(["git", *identity, *arguments], check=True)


def build_clone(path):
    """Make a repository with a commit, as a clone of octo/models."""
    git("init", "--quiet", "-b", "main", "--template=", str(path))
    git("-C", str(path), "commit", "--quiet", "--allow-empty", "-m", "first")


def store_event(engine, *, now):
    """Store an event of the only project: the one that the examples decide on."""
    with write_session(engine) as session:
        event = TrackedEvent(harm=Harm.WORSE, pull_request=7)
        save_event(session, 1, EventUpdate(event, "found"), now=now)
        session.commit()


def queue_example_job(engine, now):
    """Queue the job that an example cancels."""
    job = NewRunnerJob(key="canary:1", kind=RunnerJobKind.CANARY, machine_class="*")
    with write_session(engine) as session:
        project = project_named(session, "octo/models")
        add_runner_job(session, project.id, job, job_id=JOB_ID, now=now)
        session.commit()


def add_example_people(engine, now):
    """Add the people of the examples, with a role that can be taken back."""
    with write_session(engine) as session:
        for provider, subject, login in (
            (PersonProvider.GITHUB, "7", "alice"),
            (PersonProvider.PROXY, "bob", "bob"),
        ):
            person_for(session, provider, subject, login=login, now=now)
        session.commit()
    for name in ("alice", "proxy:bob"):
        grant_role(engine, name, "octo/models", Role.VIEWER, actor=Actor(name="root"), now=now)


def add_example_notices(engine, now):
    """Send notices where the examples take them back."""
    for channel, address in ((NoticeChannel.WEBHOOK, "chat"), (NoticeChannel.ISSUE, "")):
        target = NoticeTarget(channel=channel, address=address)
        set_target(engine, "octo/models", target, actor=Actor(name="root"), now=now)


@pytest.fixture(scope="session")
def prepared_folder(tmp_path_factory, migrated_file):
    """The examples' files, a clone, and a database of what they import where each looks for it."""
    folder = tmp_path_factory.mktemp("prepared") / "work"
    shutil.copytree(EXAMPLES / "review", folder)
    shutil.copytree(EXAMPLES / "commands", folder, dirs_exist_ok=True)
    build_clone(folder / "models")
    path = Path(shutil.copy(migrated_file, folder / "ci.db"))
    engine = open_engine(f"sqlite:///{path}")
    now = datetime.now(UTC)
    add_project(engine, "octo/models", token=TOKEN, now=now)
    store_event(engine, now=now)
    files = [
        (ImportKind.USAGE, "usage.csv"),
        (ImportKind.ACTIVITY, "activity.csv"),
        (ImportKind.JOBS, "jobs.csv"),
    ]
    for kind, name in files:
        file = read_named(folder / name, most_bytes=MAX_USAGE_BYTES)
        import_file(engine, file, kind=kind, source="main", now=now)
    measured = read_load_curves([str(folder / "curve.json")], latency=REQUEST_LATENCY)
    curves = file_of_curves("curve.json", measured)
    import_file(engine, curves, kind=ImportKind.LOAD, source="main", now=now)
    queue_example_job(engine, now)
    add_example_people(engine, now)
    add_example_notices(engine, now)
    add_two_devices(engine, now=now)
    add_imported_series(engine, project_id=1)
    with TableBar(Console(quiet=True)) as watcher:
        back_up(engine, folder / "backup.zip", watcher=watcher, now=now)
    engine.dispose()
    shutil.copy(path, folder / "perfledger.db")
    return folder


@pytest.fixture
def folder(prepared_folder, tmp_path, monkeypatch):
    """Work in a copy of the prepared folder."""
    path = shutil.copytree(prepared_folder, tmp_path / "work")
    monkeypatch.chdir(path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return path


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """Work in a repository whose last commit makes its only workload faster."""
    path = tmp_path / "repository"
    path.mkdir()
    (tmp_path / "my-model").mkdir()
    shutil.copy(EXAMPLES / "commands" / "gpu7.toml", path)
    monkeypatch.chdir(path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    assert run("perfledger init").exit_code == 0
    (path / "perfledger.toml").write_text(CONFIG)
    workload = path / "benchmarks" / "example.py"
    fast = workload.read_text().replace(ROOTS, FEWER_ROOTS)
    assert FEWER_ROOTS in fast
    workload.write_text(fast.replace(STEP, SLOW_STEP))
    git("init", "-q", "-b", "main")
    git("add", "-A")
    git("commit", "-q", "-m", "Register a workload")
    git("tag", "v1.0")
    workload.write_text(fast)
    git("commit", "-q", "-a", "-m", "Take each root once")
    git("tag", "v1.1")
    return path


def ordinary():
    """Return the commands that need nothing but files."""
    others = OF_REPOSITORY | OF_COMMITS | OF_SERVICE | OF_REPOSITORY_AND_SERVICE | OTHERS
    return [name for name in COMMANDS if name not in others]


def without_golden_file():
    """Return the examples whose table is no golden file: the tests of those run the others."""
    golden = {
        f"perfledger {command}"
        for command, formats in GOLDEN_COMMANDS.values()
        if "table" in formats
    }
    return [marked(each) for each in examples(ordinary()) if each not in golden]


def marked(example):
    return pytest.param(example, marks=pytest.mark.slow(ci_only=example.endswith(IN_CI)))


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("example", without_golden_file())
def test_an_example_ends_well(example):
    if "bench time" in example and "--processes" not in example:
        example += f" {FEW_PROCESSES}"
    if "--publish" in example:
        example += f" {WITHOUT_PICTURES}"

    done = run(example)

    assert done.exit_code == 0, done.output


@pytest.mark.usefixtures("repository")
@pytest.mark.parametrize(
    "example", [*map(marked, examples(sorted(OF_REPOSITORY))), marked(WHOLE_CHECK)]
)
def test_an_example_in_a_repository_ends_well(example):
    if "--request-rate" in example:
        example += f" {LOW_RATE}"
    elif "bench load" in example:
        example += f" {SHORT_POINTS}"
    if "bench doctor" in example:
        example += f" {FEW_PAIRS if '--pairs 20' in example else NO_PAIRS}"

    done = run(example)

    assert done.exit_code == 0, done.output


@pytest.mark.usefixtures("repository")
@pytest.mark.parametrize(
    "example", [marked(each) for each in examples(sorted(OF_COMMITS)) if each != WHOLE_CHECK]
)
def test_an_example_that_has_no_time_to_measure_ends_without_a_verdict(example):
    done = run(f"{example} {NO_TIME}")

    # A quick machine measures a pair in that time, which decides nothing. With head's workloads on
    # both sides there is nothing to measure.
    words = ("\nUndecided: ", "Same code: ")
    is_open = any(each in done.output for each in words)
    assert done.exit_code == ExitCode.UNCERTAIN or is_open, done.output


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("example", examples(sorted(OF_SERVICE)))
def test_an_example_that_asks_the_service_ends_well(site, example):
    ends_well(site, example)


@pytest.mark.usefixtures("repository")
@pytest.mark.parametrize("example", examples(sorted(OF_REPOSITORY_AND_SERVICE)))
def test_an_example_that_tells_the_service_of_a_repository_ends_well(site, example):
    ends_well(site, example)


def ends_well(site, example):
    done = run(
        example.replace(UPLOAD_URL, site.url),
        PERFLEDGER_UPLOAD_URL=site.url,
        PERFLEDGER_UPLOAD_TOKEN=SITE_TOKEN,
    )

    assert done.exit_code == 0, done.output


@pytest.mark.slow(ci_only=True)
@pytest.mark.usefixtures("folder")
def test_the_example_that_serves_answers_until_it_is_interrupted():
    # The other one has no option, and its usual port may be taken here.
    (example,) = (each for each in examples(["server run"]) if each != "perfledger server run")
    words = shlex.split(example)[1:]
    with subprocess.Popen(
        [sys.executable, "-m", "perfledger_service", *words], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        address = re.search(r"http://\S+", process.stdout.readline())
        try:
            assert address is not None
            assert urlopen(f"{address[0]}/healthz").status == 200
        finally:
            process.send_signal(signal.SIGINT)

    assert process.returncode == 0


def formats():
    """Return an example's formats but the table, its own, that no golden file is of."""
    for name in ordinary():
        help_text = CliRunner().invoke(app, [*name.split(), "--help"]).output
        result = FORMAT.search(help_text)
        others = [
            each
            for each in (result[1].split("|") if result and name != "review" else ())
            if each != "table" and not (GOLDEN / f"{name.replace(' ', '_')}.{each}").exists()
        ]
        if others:
            marks = pytest.mark.slow(ci_only=name in {"plan elastic", "bench time"})
            yield pytest.param(COMMANDS[name].examples[0], others, id=name, marks=marks)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(("example", "others"), list(formats()))
def test_a_command_writes_every_format_that_it_offers(run_in_formats, example, others):
    if "bench time" in example:
        example += f" {FEW_PROCESSES}"

    def run_as(format_):
        refused = " --bill bill.csv" if format_ == "svg" else ""  # a heat map shows hours, not cost
        done = run(f"{example.replace(refused, '') if refused else example} --format {format_}")
        assert done.exit_code == 0, done.output
        return done.stdout

    texts = run_in_formats(run_as, others)

    assert set(texts) == set(others)
    assert all(texts.values())


@pytest.mark.usefixtures("folder")
def test_a_format_goes_into_a_file():
    example = COMMANDS["cost compare"].examples[0]

    done = run(f"{example} --format csv --output result")

    assert done.exit_code == 0, done.output
    assert Path("result").stat().st_size > 0


@pytest.mark.usefixtures("folder")
def test_json_is_short_for_the_format():
    words = "perfledger cost energy 512x20d --mean-watts 650"

    assert run(f"{words} --json").stdout == run(f"{words} --format json").stdout
