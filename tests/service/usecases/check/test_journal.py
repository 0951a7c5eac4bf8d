import subprocess
import sys
from dataclasses import replace

import pytest

from perfledger.bundle import Plan
from perfledger.records import Device, Machine, WorkloadSpec
from perfledger_runners.checkouts.repository import Repository
from perfledger_runners.measuring.measured_pair import MeasuredPair
from perfledger_runners.measuring.pair_journal import JournalError, SavedPair
from perfledger_runners.measuring.rounds.progress import NoProgress
from perfledger_service.errors import UsageError
from perfledger_service.usecases.check.checkouts import check_out_revisions
from perfledger_service.usecases.check.journal import open_check_journal
from perfledger_service.usecases.check.revisions import configuration_of, resolve_revisions
from perfledger_service.usecases.inputs.workload_choice import WorkloadChoice

pytestmark = pytest.mark.slow

IDENTITY = ("-c", "user.name=test", "-c", "user.email=test@example.invalid")
MACHINE = Machine(device=Device.CPU, model="a CPU")
SPECS = (WorkloadSpec(id="m:f", module="m", function="f"),)
PLAN = Plan(seed=1, order=(), looks=(5,))
PAIR = SavedPair(
    measured=MeasuredPair(pair=0, workloads=("m:f",)), remaining=(), wall_s=1.0, spent_s=42.0
)


class NoStages(NoProgress):
    def stage(self, name):
        pass


@pytest.fixture
def began():
    """The times at which the checks that were opened began, as their files are compared with."""
    return []


@pytest.fixture
def opened(tmp_path, began):
    """Return a function that opens the journal of a check with these settings."""
    root = tmp_path / "repository"
    root.mkdir()
    (root / "perfledger.toml").write_text(f'python = "{sys.executable}"\n')
    for arguments in (("init", "-q", "-b", "main"), ("add", "-A"), ("commit", "-q", "-m", "base")):
        subprocess.run(["git", *IDENTITY, *arguments], cwd=root, check=True)
    (root / "code.py").write_text("HEAD\n")
    repository = Repository.open(root)
    sides = resolve_revisions(repository, base="", head="")

    def run(use, *, is_resumed=False, environment=None, **flags):
        configuration = configuration_of(repository, sides, flags=flags)
        with (
            check_out_revisions(repository, sides, configuration, NoStages()) as site,
            open_check_journal(
                site,
                choice=WorkloadChoice(),
                is_resumed=is_resumed,
                environment=environment or {"XDG_STATE_HOME": str(tmp_path)},
            ) as journal,
        ):
            began.append(site.code.origin.began)
            return use(journal)

    return run


def interrupt(journal):
    journal.begin(MACHINE, PLAN, (), SPECS).append(PAIR)
    raise KeyboardInterrupt


@pytest.mark.slow(ci_only=True)
def test_an_interrupted_check_goes_on_with_its_plan_and_what_it_spent(opened):
    with pytest.raises(KeyboardInterrupt) as raised:
        opened(interrupt)

    def use(journal):
        journal.check_machine(MACHINE, SPECS)
        assert journal.begin(MACHINE, replace(PLAN, seed=2), (), SPECS).saved == (PAIR,)
        return journal.resumed.plan, journal.spent_s, journal.notes()

    plan, spent_s, (note,) = opened(use, is_resumed=True, budget="1h")  # more time is allowed
    assert (plan, spent_s) == (PLAN, 42.0)
    assert note.startswith("the check was interrupted after its first pair of processes, ")
    assert raised.value.__notes__ == ["1 pair is saved"]


def test_a_resumed_check_began_when_its_first_part_did(opened, began):
    with pytest.raises(KeyboardInterrupt):
        opened(interrupt)
    opened(lambda _: None)

    opened(lambda _: None, is_resumed=True)

    first, another, resumed = began
    assert (another > first, resumed == first) == (True, True)


@pytest.mark.slow(ci_only=True)
def test_a_check_that_is_over_has_nothing_to_resume(opened):
    def use(journal):
        journal.begin(MACHINE, PLAN, (), SPECS).append(PAIR)
        journal.remove()

    opened(use)

    with pytest.raises(JournalError, match=r"no interrupted check of .* is saved"):
        opened(use, is_resumed=True)


def test_a_signal_after_the_end_names_no_saved_pairs(opened):
    def use(journal):
        journal.begin(MACHINE, PLAN, (), SPECS).append(PAIR)
        journal.remove()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as raised:
        opened(use)

    assert not hasattr(raised.value, "__notes__")


@pytest.mark.slow(ci_only=True)
def test_other_settings_are_refused(opened):
    with pytest.raises(KeyboardInterrupt):
        opened(interrupt)

    with pytest.raises(JournalError, match=r"margin was 0\.01 and is 0\.2"):
        opened(interrupt, is_resumed=True, margin=0.2)


@pytest.mark.slow(ci_only=True)
@pytest.mark.parametrize(
    ("machine", "specs", "difference"),
    [
        (replace(MACHINE, cores=64), SPECS, "cores was 1 and is 64"),
        (MACHINE, (), "other workloads are registered"),
    ],
)
def test_another_machine_or_other_workloads_are_refused(opened, machine, specs, difference):
    with pytest.raises(KeyboardInterrupt):
        opened(interrupt)

    with pytest.raises(UsageError, match=difference):
        opened(lambda journal: journal.check_machine(machine, specs), is_resumed=True)


def test_a_check_whose_pairs_cannot_be_saved_says_so(opened, tmp_path):
    (tmp_path / "file").write_text("")

    def use(journal):
        journal.check_machine(MACHINE, SPECS)
        assert journal.begin(MACHINE, PLAN, (), SPECS) is None
        journal.remove()
        return journal.notes()

    (note,) = opened(use, environment={"XDG_STATE_HOME": str(tmp_path / "file")})

    assert note.startswith("pairs were not saved, and could not have been resumed: cannot create")


@pytest.mark.slow(ci_only=True)
def test_other_packages_than_at_the_interruption_are_refused(opened, tmp_path, monkeypatch):
    site = tmp_path / "site"
    (site / "numpy-2.1.dist-info").mkdir(parents=True)
    monkeypatch.setenv("PYTHONPATH", str(site))
    with pytest.raises(KeyboardInterrupt):
        opened(interrupt)
    (site / "numpy-2.1.dist-info").rename(site / "numpy-2.2.dist-info")

    with pytest.raises(UsageError, match=r"numpy was 2\.1 and is 2\.2; resume it where it started"):
        opened(lambda journal: journal.check_machine(MACHINE, SPECS), is_resumed=True)


@pytest.mark.slow(ci_only=True)
@pytest.mark.parametrize(
    ("name", "flags"),
    [
        ("OMP_NUM_THREADS", {}),
        ("CUDA_VISIBLE_DEVICES", {}),
        ("XLA_FLAGS", {}),
        ("MY_MODEL_SIZE", {"env": ["MY_MODEL_*"]}),
    ],
)
def test_other_variables_of_the_workloads_are_refused_by_name(opened, monkeypatch, name, flags):
    monkeypatch.setenv(name, "canary")
    with pytest.raises(KeyboardInterrupt):
        opened(interrupt, **flags)
    monkeypatch.setenv(name, "2")

    with pytest.raises(UsageError) as raised:
        opened(lambda journal: journal.check_machine(MACHINE, SPECS), is_resumed=True, **flags)

    assert f"the variable {name} has another value" in str(raised.value)
    assert "canary" not in str(raised.value)


def test_variables_that_do_not_reach_the_workloads_may_differ(opened, monkeypatch, tmp_path):
    for name in ("MY_MODEL_SIZE", "AWS_SECRET_ACCESS_KEY", "TMPDIR"):
        monkeypatch.setenv(name, str(tmp_path))
    with pytest.raises(KeyboardInterrupt):
        opened(interrupt)
    for name in ("MY_MODEL_SIZE", "AWS_SECRET_ACCESS_KEY", "TMPDIR"):
        monkeypatch.delenv(name)

    def use(journal):
        journal.check_machine(MACHINE, SPECS)
        return journal.resumed

    assert opened(use, is_resumed=True) is not None
