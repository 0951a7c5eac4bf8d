import pytest

from perfledger_runners.launchers.configuration import (
    MAX_LAUNCHER_FILE_BYTES,
    MAX_LIMIT_MINUTES,
    read_launcher_file,
)
from perfledger_runners.launchers.github_actions.workflow_launcher import WorkflowLauncher
from perfledger_runners.launchers.launcher import LauncherError, SubmissionLimits
from perfledger_runners.launchers.local_processes import LocalProcesses

EXEC = 'kind = "exec"\ncommand = ["ssh", "gpu7", "{shell_command}"]\n'


GITHUB = """
kind = "github-actions"
repository = "octo/models"
workflow = "perfledger-job.yml"
ref = "main"
"""


@pytest.fixture
def read(tmp_path):
    def read(content, open_runs=pytest.fail):
        file = tmp_path / "launcher.toml"
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
        return read_launcher_file(file, open_runs)

    return read


def test_a_program_runs_jobs_elsewhere(read, make_submission):
    cancel = 'cancel = ["ssh", "gpu7", "pkill -f {name}"]\ntime_limit_minutes = 60\n'
    choice = read(EXEC + cancel)

    assert not choice.is_local
    assert choice.limits == SubmissionLimits(wait_s=86_400.0, run_s=3600.0)
    assert choice.launcher.template.fill(make_submission(command=("a", "b c")))[2] == "a 'b c'"
    assert choice.launcher.cancel_template.fill_name("x")[2] == "pkill -f x"


def test_jobs_of_this_machine_may_have_limits(read):
    choice = read('kind = "local"\ntime_limit_minutes = 1\n')

    assert choice.is_local
    assert isinstance(choice.launcher, LocalProcesses)
    assert choice.limits.run_s == 60.0


def test_jobs_of_github_actions_are_runs_of_a_repositorys_workflow(read):
    opened = []
    choice = read(GITHUB, opened.append)

    assert opened == ["octo/models"]
    assert not choice.is_local
    assert isinstance(choice.launcher, WorkflowLauncher)
    assert (choice.launcher.workflow, choice.launcher.ref) == ("perfledger-job.yml", "main")


@pytest.mark.parametrize(
    ("word", "other"),
    [
        ("octo/models", "models"),
        ("octo/models", "octo/.."),
        ("octo/models", "octo/a/b"),
        ("octo/models", "octo/models?x"),
        ("octo/models", "octo/models\\n"),
        ("octo/models", "../models"),
        ("perfledger-job.yml", "perfledger-job"),
        ("perfledger-job.yml", "../job.yml"),
        ("perfledger-job.yml", "7"),
        ('"main"', '"a b"'),
        ('"main"', '""'),
        ('"main"', '"-x"'),
        ('"main"', '"main\\n"'),
    ],
)
def test_a_name_that_github_has_not_is_refused(read, word, other):
    with pytest.raises(LauncherError, match="Expected `str` matching regex"):
        read(GITHUB.replace(word, other))


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("", "missing required field `kind`"),
        ('kind = "pbs"', "Invalid value 'pbs'"),
        ('kind = "exec"', "missing required field `command`"),
        ('kind = "exec"\ncommand = "ssh gpu7"', "Expected `array`"),
        ('kind = "exec"\ncommand = ["ssh"]', "where the check's command goes"),
        (EXEC + 'cancle = ["x"]', "unknown field `cancle`"),
        (EXEC + 'cancel = ["rm", "{bundle}"]', "`cancel` has an unknown"),
        (EXEC + "time_limit_minutes = 0", ">= 1"),
        (EXEC + f"wait_limit_minutes = {MAX_LIMIT_MINUTES + 1}", "<= "),
        (EXEC + "wait_limit_minutes = 1e999", "Expected `int`"),
        (EXEC + "wait_limit_minutes = nan", "Expected `int`"),
        (EXEC + f"wait_limit_minutes = {'9' * 5000}", "launcher.toml"),
        (EXEC + "x = " + "[" * 3000, "launcher.toml"),
        (GITHUB.replace('ref = "main"', ""), "missing required field `ref`"),
        (GITHUB + "runs_on = 1", "unknown field `runs_on`"),
        (b"\xff\xfe", "launcher.toml"),
        ("not toml", "launcher.toml"),
        ("#" * (MAX_LAUNCHER_FILE_BYTES + 1), "it is not a launcher file"),
    ],
)
def test_a_file_that_describes_no_launcher_is_refused_by_name(read, content, problem):
    with pytest.raises(LauncherError, match=problem):
        read(content)


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(LauncherError, match="cannot be read: No such file"):
        read_launcher_file(tmp_path / "slurm.toml", pytest.fail)
