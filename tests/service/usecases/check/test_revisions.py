"""Tests the two sides of a check and the source of its settings, in real repositories."""

import subprocess

import pytest

from perfledger_runners.checkouts.git import RepositoryError
from perfledger_runners.checkouts.repository import Repository
from perfledger_runners.checkouts.workload_overlay import find_workload_source
from perfledger_service.errors import NotMeasuredError, SettingsError, UsageError
from perfledger_service.usecases.check.revisions import (
    configuration_from,
    configuration_of,
    is_first_use,
    resolve_revisions,
    start_at_workloads,
)

WORKLOAD = "import perfledger\n\n@perfledger.workload()\ndef add():\n    return sum\n"
IDENTITY = ("-c", "user.name=test", "-c", "user.email=test@example.invalid")


class Checkout:
    """A repository on branch main whose commits a test makes."""

    def __init__(self, root):
        self.root = root
        self.git("init", "-q", "-b", "main")

    def git(self, *arguments):
        done = subprocess.run(
            ["git", *IDENTITY, *arguments], cwd=self.root, check=True, stdout=subprocess.PIPE
        )
        return done.stdout.decode().strip()

    def commit(self, **files):
        """Commit files, their names without the suffix .toml; return the hash."""
        for name, content in files.items():
            (self.root / f"{name}.toml").write_text(content)
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", "a change")
        return self.git("rev-parse", "HEAD")

    def commit_workload(self, text=WORKLOAD):
        """Commit a file with a workload; return the hash."""
        (self.root / "sums.py").write_text(text)
        return self.commit()

    def resolve(self, *, base="", head=""):
        return resolve_revisions(Repository.open(self.root), base=base, head=head)

    def resolve_first_use(self):
        return start_at_workloads(Repository.open(self.root), self.resolve())

    def configuration(self, **flags):
        return configuration_of(Repository.open(self.root), self.resolve(), flags=flags)

    def configuration_from(self, name, sides, **flags):
        repository = Repository.open(self.root)
        source = find_workload_source(repository, name, folder=self.root)
        return configuration_from(repository, source, sides, flags=flags)


@pytest.fixture
def checkout(tmp_path):
    return Checkout(tmp_path)


def test_uncommitted_changes_are_compared_with_where_they_left_the_default_branch(checkout):
    fork = checkout.commit()
    checkout.git("switch", "-q", "-c", "topic")
    checkout.commit(first="x = 1")
    (checkout.root / "second.toml").write_text("x = 2")

    sides = checkout.resolve()

    assert (sides.base.sha, sides.base.ref) == (fork, "merge-base with main")
    assert sides.head.is_dirty


def test_a_commit_of_the_default_branch_is_compared_with_its_first_parent(checkout):
    parent, head = checkout.commit(), checkout.commit(first="x = 1")

    sides = checkout.resolve()

    assert (sides.base.sha, sides.base.ref) == (parent, "first parent")
    assert (sides.head.sha, sides.head.is_dirty) == (head, False)


def test_a_named_head_is_compared_whatever_is_checked_out(checkout):
    first, second = checkout.commit(), checkout.commit(first="x = 1")
    checkout.commit(second="x = 2")

    sides = checkout.resolve(head=second)

    assert (sides.base.sha, sides.head.sha) == (first, second)


def test_a_named_base_is_taken_even_if_it_is_the_head(checkout):
    checkout.commit()
    head = checkout.commit(first="x = 1")

    sides = checkout.resolve(base="main")

    assert (sides.base.sha, sides.head.sha) == (head, head)
    assert sides.base.ref == "merge-base with main"


def test_changes_are_compared_with_head_where_the_default_branch_has_no_workloads_yet(checkout):
    fork = checkout.commit()
    checkout.git("switch", "-q", "-c", "topic")
    first = checkout.commit_workload()
    (checkout.root / "second.toml").write_text("x = 2")

    sides = checkout.resolve_first_use()

    assert (sides.base.sha, sides.base.ref) == (first, "last commit that changed the workloads")
    assert sides.head.is_dirty
    (note,) = sides.notes
    assert note.startswith(f"the merge-base with main ({fork[:12]}) has no workloads yet: ")
    assert note.endswith(f"base is HEAD ({first[:12]}), the last commit that changed them")


def test_a_committed_change_is_compared_with_the_commit_of_the_workloads_before_it(checkout):
    checkout.commit()
    checkout.git("switch", "-q", "-c", "topic")
    checkout.commit_workload()
    latest = checkout.commit_workload(WORKLOAD + "# edited\n")
    checkout.commit(first="x = 1")
    head = checkout.commit(second="x = 2")

    sides = checkout.resolve_first_use()

    assert (sides.base.sha, sides.head.sha) == (latest, head)
    assert f"base is {latest[:12]}, the last" in sides.notes[0]


def test_an_edited_workload_is_compared_with_the_one_before(checkout):
    checkout.commit()
    checkout.git("switch", "-q", "-c", "topic")
    before = checkout.commit_workload()
    (checkout.root / "sums.py").write_text(WORKLOAD + "# edited\n")

    assert checkout.resolve_first_use().base.sha == before


@pytest.mark.parametrize("is_committed", [True, False])
def test_workloads_without_a_change_after_them_have_no_base_yet(checkout, is_committed):
    fork = checkout.commit()
    checkout.git("switch", "-q", "-c", "topic")
    if is_committed:
        checkout.commit_workload()
    else:
        (checkout.root / "sums.py").write_text(WORKLOAD)

    sides = checkout.resolve_first_use()

    assert (sides.base.sha, sides.notes) == (fork, ())


def test_a_configured_default_branch_stays_the_base(checkout):
    fork = checkout.commit(perfledger="margin = 0.05")
    checkout.git("switch", "-q", "-c", "topic")
    checkout.commit_workload()
    checkout.commit(second="x = 2")

    assert checkout.resolve_first_use().base.sha == fork


def test_a_first_commit_has_nothing_to_be_compared_with(checkout):
    checkout.commit()

    with pytest.raises(UsageError, match=r"nothing to compare HEAD with: .* or pass --base"):
        checkout.resolve()


def test_an_unknown_base_is_named(checkout):
    checkout.commit()

    with pytest.raises(RepositoryError, match="'elsewhere' is not a commit"):
        checkout.resolve(base="elsewhere")


def test_a_change_cannot_relax_its_own_gate(checkout):
    checkout.commit(perfledger="margin = 0.05")
    checkout.commit(perfledger="margin = 0.9")

    configuration = checkout.configuration()

    assert (configuration.settings.margin, configuration.notes) == (0.05, ())
    assert configuration.base_file == "perfledger.toml"


def test_the_heads_configuration_counts_where_the_base_has_none(checkout):
    checkout.commit()
    checkout.commit(perfledger="margin = 0.05")

    configuration = checkout.configuration()

    assert configuration.settings.margin == 0.05
    assert configuration.base_file == ""
    assert configuration.notes == (
        "base has no configuration: the head's perfledger.toml was used",
    )


def test_a_change_cannot_ask_for_variables_where_the_base_has_no_configuration(
    checkout, monkeypatch
):
    checkout.commit()
    checkout.commit(perfledger='env = ["AWS_SECRET_ACCESS_KEY"]')

    configuration = checkout.configuration()

    assert configuration.settings.env == ()
    assert configuration.notes[1].startswith("`env` was not used, because only the change")
    monkeypatch.setenv("PERFLEDGER_ENV", '["WANDB_API_KEY"]')
    assert checkout.configuration().settings.env == ("WANDB_API_KEY",)


def test_a_base_that_is_a_commit_of_the_change_cannot_ask_for_credentials_either(checkout):
    checkout.commit()
    checkout.git("switch", "-q", "-c", "topic")
    (checkout.root / "perfledger.toml").write_text('env = ["AWS_SECRET_ACCESS_KEY"]')
    checkout.commit_workload()
    checkout.commit(second="x = 2")

    configuration = configuration_of(
        Repository.open(checkout.root), checkout.resolve_first_use(), flags={}
    )

    assert configuration.base_file == "perfledger.toml"
    assert configuration.settings.env == ()
    assert configuration.notes[-1].startswith("`env` was not used")


def test_a_file_without_our_table_is_no_configuration(checkout):
    checkout.commit(pyproject="[tool.other]\nmargin = 0.9")
    checkout.commit(pyproject="[tool.perfledger]\nmargin = 0.05")

    configuration = checkout.configuration()

    assert configuration.settings.margin == 0.05
    assert configuration.base_file == ""
    assert configuration.notes == ("base has no configuration: the head's pyproject.toml was used",)


@pytest.mark.parametrize(
    ("suite", "expected"), [("perfledger", True), ("pytest", False), ("asv", False)]
)
def test_a_base_with_another_tools_suite_may_have_something_to_compare(checkout, suite, expected):
    checkout.commit()
    checkout.commit(perfledger="margin = 0.05")
    repository, sides = Repository.open(checkout.root), checkout.resolve()

    assert is_first_use(repository, sides.base, checkout.configuration(suite=suite)) is expected


@pytest.mark.parametrize(
    ("head", "moved"),
    [
        ('paths = ["perf"]', ("perf",)),
        ('paths = ["benchmarks"]', ()),
        ("margin = 0.1", ()),
        ("paths = ", ()),
        ("paths = 3", ()),
    ],
)
def test_paths_of_head_that_do_not_decide_are_known(checkout, head, moved):
    checkout.commit(perfledger='paths = ["benchmarks"]')
    checkout.commit(perfledger=head)

    configuration = checkout.configuration()

    assert configuration.settings.paths == ("benchmarks",)
    assert configuration.head_paths == moved


def test_a_flag_goes_before_the_configuration(checkout):
    checkout.commit(perfledger="margin = 0.05\nfloor = 0.03")
    checkout.commit(first="x = 1")

    settings = checkout.configuration(margin=0.2).settings

    assert (settings.margin, settings.floor) == (0.2, 0.03)


def test_a_broken_configuration_is_named(checkout):
    checkout.commit(perfledger="margin = ")
    checkout.commit(first="x = 1")

    with pytest.raises(SettingsError, match=r"perfledger\.toml"):
        checkout.configuration()


def test_a_commit_compared_with_itself_has_a_note(checkout):
    checkout.commit()
    checkout.commit(perfledger="margin = 0.05")
    repository = Repository.open(checkout.root)

    configuration = configuration_of(repository, checkout.resolve(base="main"), flags={})

    assert configuration.notes == ("base and head are the same commit: any difference is noise",)


@pytest.mark.parametrize("name", ["today", "."])
def test_workloads_from_elsewhere_bring_their_settings_and_are_laid_over_both_sides(checkout, name):
    base = checkout.commit(benchmark="old")
    head = checkout.commit(perfledger="margin = 0.02", benchmark="older")
    checkout.commit(perfledger='paths = ["benchmark.toml"]\nmargin = 0.2', benchmark="new")
    checkout.git("branch", "today")
    sides = checkout.resolve(base=base, head=head)

    configuration = checkout.configuration_from(name, sides)

    assert (configuration.settings.margin, configuration.base_file) == (0.2, "perfledger.toml")
    (note,) = configuration.notes
    assert note.endswith("1 file at benchmark.toml, laid over both sides")
    repository = Repository.open(checkout.root)
    for sha, own in ((base, ""), (head, "margin = 0.02")):
        laid_over = configuration.checked_out_sha(repository, sha)
        assert checkout.git("show", f"{laid_over}:benchmark.toml") == "new"
        listed = checkout.git("ls-tree", "--name-only", laid_over)
        assert ("perfledger.toml" in listed) == bool(own)
        assert not own or checkout.git("show", f"{laid_over}:perfledger.toml") == own


@pytest.fixture
def package(checkout):
    """A base whose workload is inside the package that it measures."""
    (checkout.root / "mine").mkdir()
    for name, text in (("core.py", "SIZE = 1\n"), ("speed.py", WORKLOAD)):
        (checkout.root / "mine" / name).write_text(text)
    checkout.commit(perfledger='paths = ["mine"]')
    return checkout


def test_workloads_from_elsewhere_that_hide_the_whole_change_measure_nothing(package):
    (package.root / "mine" / "core.py").write_text("SIZE = 2\n")
    (package.root / "README.md").write_text("words\n")
    head = package.commit(perfledger='paths = ["mine"]\nmargin = 0.2')

    words = r"nothing of .* mine/core.py changed .* set `paths` \(now mine\) to the files"
    with pytest.raises(NotMeasuredError, match=words):
        package.configuration_from("HEAD", package.resolve(base="HEAD~1", head=head))


def test_workloads_from_elsewhere_that_hide_a_part_of_the_change_say_so(package):
    (package.root / "mine" / "core.py").write_text("SIZE = 2\n")
    head = package.commit(other="1")

    configuration = package.configuration_from("HEAD", package.resolve(base="HEAD~1", head=head))

    assert "mine/core.py changed and is no file of workloads" in configuration.notes[1]


@pytest.mark.parametrize(
    ("path", "suite"), [("speed.py", "perfledger"), ("conftest.py", "pytest"), ("core.py", "asv")]
)
def test_changed_workloads_are_what_an_overlay_is_for(package, path, suite):
    (package.root / "mine" / path).write_text(f"{WORKLOAD}# more\n")
    head = package.commit(perfledger=f'suite = "{suite}"\npaths = ["mine"]')

    configuration = package.configuration_from("HEAD", package.resolve(base="HEAD~1", head=head))

    assert len(configuration.notes) == 1


def test_asvs_benchmarks_from_elsewhere_are_those_of_its_own_configuration(checkout):
    (checkout.root / "asv.conf.json").write_text('{\n  "benchmark_dir": "speed.toml",\n}')
    sha = checkout.commit(perfledger='paths = ["workloads"]', speed="1")

    configuration = checkout.configuration_from(
        "main", checkout.resolve(base=sha, head="main"), suite="asv"
    )

    assert configuration.settings.own_paths == ("speed.toml",)
    assert configuration.overlay is not None
    assert list(configuration.overlay.files) == ["speed.toml"]


@pytest.mark.parametrize("is_folder", [False, True])
def test_asvs_own_configuration_may_lie_in_any_folder(checkout, is_folder):
    (checkout.root / "ci" / "speed").mkdir(parents=True)
    (checkout.root / "ci" / "speed" / "work.py").write_text("")
    (checkout.root / "ci" / "asv.conf.json").write_text('{"benchmark_dir": "./speed"}')
    sha = checkout.commit(perfledger='paths = ["workloads"]')
    source = str(checkout.root) if is_folder else "main"

    configuration = checkout.configuration_from(
        source, checkout.resolve(base=sha, head="main"), suite="asv"
    )

    assert configuration.settings.own_paths == ("ci/speed",)


def test_tests_from_elsewhere_need_their_folders(checkout):
    sha = checkout.commit(perfledger='paths = ["workloads.toml"]', workloads="1")
    sides = checkout.resolve(base=sha, head="main")

    with pytest.raises(UsageError, match=r"set PERFLEDGER_PATHS='\[\"FOLDER\"\]', or `paths`"):
        checkout.configuration_from("main", sides, suite="pytest")
    own = checkout.configuration_from("main", sides, suite="pytest", paths=("workloads.toml",))
    assert own.overlay is not None


def test_workloads_from_elsewhere_need_files_and_flags_go_before_their_settings(checkout):
    sides = checkout.resolve(base=checkout.commit(benchmarks="1"), head="main")

    with pytest.raises(RepositoryError, match="has no file at benchmarks"):
        checkout.configuration_from("main", sides)
    configuration = checkout.configuration_from("main", sides, paths=("benchmarks.toml",))
    assert len(configuration.notes) == 2
    assert "same commit" in configuration.notes[1]
