import stat
from dataclasses import replace

import pytest

from perfledger.bundle import Plan
from perfledger.records import Device, Machine
from perfledger_runners.measuring.interrupted_checks import (
    MAX_AGE_S,
    InterruptedChecks,
    environment_differences,
    interrupted_folder,
    machine_differences,
    variable_digests,
)
from perfledger_runners.measuring.pair_journal import (
    CheckEnvironments,
    CheckIdentity,
    JournalError,
    JournalHeader,
)

CHECK = CheckIdentity(
    repository="/home/user/project",
    base="a" * 40,
    head="b" * 40,
    workloads="",
    laid_over=None,
    settings={"margin": 0.05},
    perfledger="1",
)
MACHINE = Machine(device=Device.CPU, model="a CPU", cores=2, clock_mhz=3000.0)
PACKAGES = {"numpy": "2.1 (abc)", "scipy": "1.14 (def)"}
VARIABLES = {"CUDA_VISIBLE_DEVICES": "1", "OMP_NUM_THREADS": "2"}
ENVIRONMENTS = CheckEnvironments(
    interpreter="/usr/bin/python3.12", base=PACKAGES, head=PACKAGES, variables=VARIABLES
)
HEADER = JournalHeader(
    check=CHECK,
    workloads=("m:f",),
    machine=MACHINE,
    environments=ENVIRONMENTS,
    plan=Plan(seed=1, order=(), looks=(5,)),
    work=(),
    began=1_000_000_000.0,
)


class Hand:
    now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def checks(tmp_path):
    return InterruptedChecks(folder=tmp_path / "state" / "interrupted")


def test_a_check_finds_its_own_journal(checks):
    checks.start(HEADER).close()

    journal = checks.reopen(CHECK)

    journal.close()
    assert journal.header == HEADER


def test_a_new_check_takes_the_place_of_an_interrupted_one(checks):
    checks.start(HEADER).close()
    later = replace(HEADER, plan=replace(HEADER.plan, seed=2))
    checks.start(later).close()

    journal = checks.reopen(CHECK)

    journal.close()
    assert journal.header.plan.seed == 2
    assert len(list(checks.folder.iterdir())) == 1


@pytest.mark.parametrize(
    ("changes", "difference"),
    [
        ({"head": "c" * 40}, f"head was {'b' * 40} and is {'c' * 40}"),
        ({"settings": {"margin": 0.01}}, "margin was 0.05 and is 0.01"),
        ({"workloads": "--workload m:f"}, "workloads was '' and is --workload m:f"),
        ({"perfledger": "2"}, "perfledger was 1 and is 2"),
    ],
)
def test_another_check_is_told_what_differs(checks, changes, difference):
    checks.start(HEADER).close()

    with pytest.raises(JournalError) as raised:
        checks.reopen(replace(CHECK, **changes))

    assert difference in str(raised.value)
    assert "0 pairs" in str(raised.value)


def test_what_another_check_was_writing_is_left_for_its_own_resumption(checks):
    checks.start(HEADER).close()
    (path,) = checks.folder.iterdir()
    with path.open("ab") as file:
        file.write(b"torn")
    content = path.read_bytes()

    with pytest.raises(JournalError, match="head was"):
        checks.reopen(replace(CHECK, head="c" * 40))

    assert path.read_bytes() == content


def test_another_repositorys_check_is_none(checks):
    checks.start(HEADER).close()

    with pytest.raises(JournalError, match="no interrupted check of /elsewhere is saved"):
        checks.reopen(replace(CHECK, repository="/elsewhere"))


def test_a_journal_with_another_checks_name_is_an_error(checks):
    checks.start(HEADER).close()
    (path,) = checks.folder.iterdir()
    other = replace(CHECK, head="c" * 40)
    checks.start(replace(HEADER, check=other)).close()
    (other_path,) = set(checks.folder.iterdir()) - {path}
    path.replace(other_path)

    with pytest.raises(JournalError, match="belongs to another check"):
        checks.reopen(other)


def test_old_journals_are_removed_when_a_check_begins(checks):
    clock = Hand()
    checks.start(HEADER).close()
    (path,) = checks.folder.iterdir()
    clock.now = path.stat().st_mtime + MAX_AGE_S + 1
    later = replace(checks, clock=clock)

    later.start(replace(HEADER, check=replace(CHECK, head="c" * 40))).close()

    assert not path.exists()


def test_a_folder_that_cannot_be_made_says_why(tmp_path):
    (tmp_path / "file").write_text("")

    with pytest.raises(JournalError, match="cannot create"):
        InterruptedChecks(folder=tmp_path / "file" / "interrupted").start(HEADER)


def test_a_machine_differs_by_all_but_what_varies():
    assert machine_differences(HEADER, replace(MACHINE, clock_mhz=2000.0)) == ()
    assert machine_differences(HEADER, replace(MACHINE, cores=4, model="")) == (
        "model was a CPU and is ''",
        "cores was 2 and is 4",
    )


def test_the_folder_is_below_the_users_state():
    assert str(interrupted_folder({"XDG_STATE_HOME": "/state"})) == "/state/perfledger/interrupted"


def test_other_users_cannot_read_interrupted_checks(checks):
    checks.start(HEADER).close()

    assert stat.S_IMODE(checks.folder.stat().st_mode) == 0o700


NUMPY = "numpy was 2.1 (abc) and is 2.2 (fed)"


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, ()),
        ({"base": {**PACKAGES, "numpy": "2.2 (fed)"}}, (f"{NUMPY} on base",)),
        (
            {side: {**PACKAGES, "numpy": "2.2 (fed)"} for side in ("base", "head")},
            (NUMPY,),
        ),
        (
            {"head": {"numpy": "2.1 (fed)"}},
            (
                "numpy was 2.1 (abc) and is 2.1 (fed) on head",
                "scipy was 1.14 (def) and is not installed on head",
            ),
        ),
        (
            {"interpreter": "/opt/python3.13"},
            ("the interpreter was /usr/bin/python3.12 and is /opt/python3.13",),
        ),
        (
            {"variables": {"OMP_NUM_THREADS": "3", "XLA_FLAGS": "1"}},
            (
                "the variable CUDA_VISIBLE_DEVICES is not set any more",
                "the variable OMP_NUM_THREADS has another value",
                "the variable XLA_FLAGS was not set",
            ),
        ),
        (
            {"variables": VARIABLES | dict.fromkeys("ABCDEF", "1")},
            (*(f"the variable {name} was not set" for name in "ABCDE"), "1 more variable differs"),
        ),
        (
            {"variables": VARIABLES | dict.fromkeys("ABCDEFG", "1")},
            (*(f"the variable {name} was not set" for name in "ABCDE"), "2 more variables differ"),
        ),
        (
            {"base": {**PACKAGES, **dict.fromkeys("abcd", "1")}},
            (
                *(f"{name} was not installed and is 1 on base" for name in "abc"),
                "1 more package differs on base",
            ),
        ),
        (
            {side: {**PACKAGES, **dict.fromkeys("abcde", "1")} for side in ("base", "head")},
            (
                *(f"{name} was not installed and is 1" for name in "abc"),
                "2 more packages differ",
            ),
        ),
    ],
)
def test_environments_differ_by_their_packages_interpreter_and_variables(changes, expected):
    assert environment_differences(HEADER, replace(ENVIRONMENTS, **changes)) == expected


def test_a_variable_is_kept_without_its_value_and_a_jobs_own_names_not_at_all():
    variables = {"OMP_NUM_THREADS": "2", "HF_TOKEN": "canary", "SLURM_JOB_ID": "7", "TMPDIR": "/x"}

    digests = variable_digests(variables)

    assert sorted(digests) == ["HF_TOKEN", "OMP_NUM_THREADS"]
    assert "canary" not in str(digests)
    assert digests == variable_digests(dict(reversed(variables.items())))
    assert (
        digests["OMP_NUM_THREADS"] != variable_digests({"OMP_NUM_THREADS": "3"})["OMP_NUM_THREADS"]
    )
