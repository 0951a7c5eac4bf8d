"""Tests the two sides of a check and the source of its settings, in real repositories."""

import pytest

from perfledger_runners.checkouts.git import RepositoryError
from perfledger_runners.checkouts.repository import Repository
from perfledger_service.errors import SettingsError, UsageError
from perfledger_service.usecases.check.revisions import (
    configuration_of,
    is_first_use,
)
from tests.service.usecases.check.revisions.checkout import WORKLOAD


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

    assert configuration.settings.margin == 0.05
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
    ("head", "bytes_moved"),
    [
        ('paths = ["perf"]', ("perf",)),
        ('paths = ["benchmarks"]', ()),
        ("margin = 0.1", ()),
        ("paths = ", ()),
        ("paths = 3", ()),
    ],
)
def test_paths_of_head_that_do_not_decide_are_known(checkout, head, bytes_moved):
    checkout.commit(perfledger='paths = ["benchmarks"]')
    checkout.commit(perfledger=head)

    configuration = checkout.configuration()

    assert configuration.settings.paths == ("benchmarks",)
    assert configuration.head_paths == bytes_moved


@pytest.mark.parametrize(
    ("head", "names"),
    [
        ('margin = 0.5\npaths = ["benchmarks"]\nfloor = 0.2', "floor, margin"),
        ('margin = 0.05\npaths = ["benchmarks"]', ""),
        ("", "margin, paths"),
        (
            'floor = 0.2\nmax_pairs = 9\nbudget = "9m"\ntimeout = 9\nundecided = "neutral"',
            "budget, floor, margin, max_pairs, paths and 2 more",
        ),
    ],
)
def test_settings_that_head_changes_are_named_as_they_do_not_apply(checkout, head, names):
    checkout.commit(perfledger='margin = 0.05\npaths = ["benchmarks"]')
    checkout.commit(perfledger=head)

    configuration = checkout.configuration()

    assert configuration.settings.margin == 0.05
    note = f"head changes settings ({names}): base's apply until they are merged"
    assert configuration.notes == ((note,) if names else ())


def test_a_head_without_the_configuration_of_base_says_so(checkout):
    checkout.commit(perfledger="margin = 0.05")
    (checkout.root / "perfledger.toml").unlink()
    checkout.commit()

    configuration = checkout.configuration()

    assert configuration.settings.margin == 0.05
    assert configuration.notes == (
        "head removes the configuration: base's applies until that is merged",
    )


@pytest.mark.parametrize(
    ("head", "named"),
    [
        ("margin = ", "perfledger.toml"),
        ("margim = 0.05", "margim"),
        ("margin = 7", "'margin'"),
        ("paths = 3", "'paths'"),
    ],
)
def test_a_configuration_that_would_break_later_checks_is_named(checkout, head, named):
    checkout.commit(perfledger="margin = 0.05")
    checkout.commit(perfledger=head)

    configuration = checkout.configuration()

    assert configuration.settings.margin == 0.05
    (note,) = configuration.notes
    before, _, reason = note.partition(": ")
    assert before == "head's configuration will be refused once it is merged"
    assert named in reason


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
