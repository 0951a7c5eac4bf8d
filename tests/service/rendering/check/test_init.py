import tomllib

import pytest
import yaml

from perfledger.records import Framework
from perfledger_service.rendering.check.init import (
    advice,
    configuration_text,
    environment_set_up,
    example_text,
    summary,
    workflow_text,
)
from perfledger_service.values.project_facts import (
    BenchmarkTool,
    EnvironmentManager,
    ProjectFacts,
)


def test_the_summary_says_what_was_recognised():
    facts = ProjectFacts(
        framework=Framework.JAX,
        packages=("a", "b", "c", "d"),
        manager=EnvironmentManager.UV,
        benchmark_tools=(BenchmarkTool.ASV, BenchmarkTool.PYTEST),
    )

    assert summary(facts) == (
        "Found jax, packages a, b, c and 1 more, environment from uv.lock, "
        "benchmarks of asv and pytest-benchmark."
    )
    assert summary(ProjectFacts()).startswith("Found plain Python, no package, ")


def test_without_an_environment_the_python_is_named():
    (sentence,) = advice(ProjectFacts())

    assert "No .venv" in sentence
    assert advice(ProjectFacts(has_environment=True)) == ()
    assert advice(ProjectFacts(manager=EnvironmentManager.PIXI)) == ()


@pytest.mark.parametrize(
    ("manager", "python"),
    [
        (EnvironmentManager.POETRY, "poetry env info --executable"),
        (EnvironmentManager.PDM, "pdm info --python"),
        (EnvironmentManager.CONDA, "$CONDA_PREFIX/bin/python"),
        (EnvironmentManager.PIP, "/path/to/python"),
    ],
)
def test_a_manager_that_keeps_environments_elsewhere_is_asked_for_its_own(manager, python):
    (sentence,) = advice(ProjectFacts(manager=manager))

    assert python in sentence


def test_missing_modules_are_named_and_the_rest_is_counted():
    facts = ProjectFacts(has_environment=True, missing_modules=dict.fromkeys("abcdefgh", "m.py"))
    (sentence,) = advice(facts)

    assert "imported by your code: a (in m.py), b (in m.py), " in sentence
    assert "f (in m.py) and 2 more. Install what the workloads import; files that" in sentence


def test_a_manager_that_is_not_installed_is_named():
    facts = ProjectFacts(manager=EnvironmentManager.PIXI, has_manager=False)

    assert advice(facts)[0].startswith(
        "pixi is not on PATH here: install it, or a change of pixi.l"
    )


def test_what_reads_the_profiles_of_jax_is_named_where_it_is_missing():
    (sentence,) = advice(ProjectFacts(has_environment=True, has_profile_reader=False))

    assert "pip install 'perfledger[jax]'" in sentence


def test_benchmarks_of_another_tool_run_as_they_are():
    facts = ProjectFacts(
        has_environment=True, benchmark_tools=(BenchmarkTool.ASV, BenchmarkTool.PYTEST)
    )

    for sentence, option in zip(advice(facts), ("asv", "pytest"), strict=True):
        assert f"perfledger check --{option}." in sentence
        assert f'set suite = "{option}" in place of `paths`' in sentence


@pytest.mark.parametrize("framework", Framework)
def test_the_example_is_python_that_names_the_packages(framework):
    text = example_text(ProjectFacts(framework=framework, packages=("mine",)))

    compile(text, "example.py", "exec")
    assert "# Import what you measure from mine here." in text
    assert ("import torch" in text, "import jax" in text) == (
        framework is Framework.TORCH,
        framework is Framework.JAX,
    )


def test_the_configuration_names_the_folder_and_an_unusual_interpreter():
    plain_document = tomllib.loads(
        configuration_text(ProjectFacts(), folder="benchmarks/workloads")
    )
    pixi = ProjectFacts(manager=EnvironmentManager.PIXI)

    assert plain_document["paths"] == ["benchmarks/workloads"]
    assert "python" not in plain_document
    assert "fleet" not in plain_document
    assert tomllib.loads(configuration_text(pixi, folder="x"))["python"].startswith(".pixi/")


@pytest.mark.parametrize(
    ("facts", "command"),
    [
        (ProjectFacts(has_requirements=True), ".venv/bin/pip install -r requirements.txt"),
        (ProjectFacts(is_installable=True), ".venv/bin/pip install ."),
        (
            ProjectFacts(has_requirements=True, is_installable=True),
            ".venv/bin/pip install -r requirements.txt .",
        ),
        (
            ProjectFacts(is_installable=True, benchmark_tools=(BenchmarkTool.PYTEST,)),
            ".venv/bin/pip install . pytest-benchmark",
        ),
        (
            ProjectFacts(is_installable=True, benchmark_tools=(BenchmarkTool.ASV,)),
            ".venv/bin/pip install .",
        ),
        (
            ProjectFacts(framework=Framework.TORCH),
            ".venv/bin/pip install torch # and whatever else your workloads import",
        ),
    ],
)
def test_pip_installs_what_the_repository_lists(facts, command):
    assert environment_set_up(facts).commands == ("python3 -m venv .venv", command)


def test_conda_reads_the_file_that_is_there():
    facts = ProjectFacts(manager=EnvironmentManager.CONDA, manager_file="environment.yaml")

    (command,) = environment_set_up(facts).commands

    assert command.endswith("--file environment.yaml")
    assert environment_set_up(facts).source == "environment.yaml"


@pytest.mark.parametrize(
    "manager", [each for each in EnvironmentManager if each is not EnvironmentManager.PIP]
)
def test_every_other_manager_is_called_by_its_name_and_named_as_a_need(manager):
    text = workflow_text(ProjectFacts(manager=manager), default_branch="main")
    set_up = environment_set_up(ProjectFacts(manager=manager))

    assert set_up.program == manager
    assert f" and {manager}.\n" in text
    assert f"          {set_up.commands[0]}\n" in text
    assert ("POETRY_VIRTUALENVS_IN_PROJECT" in text) == (manager is EnvironmentManager.POETRY)


def test_the_workflow_runs_on_the_default_branch_and_on_a_device_where_one_is_used():
    torch = workflow_text(ProjectFacts(framework=Framework.TORCH), default_branch="trunk")
    plain_workflow_text = workflow_text(ProjectFacts(), default_branch="trunk")

    assert 'branches: ["trunk"]' in plain_workflow_text
    assert "runs-on: [self-hosted, gpu]" in torch
    assert "runs-on: [self-hosted]" in plain_workflow_text


def test_the_workflow_gives_the_token_only_to_steps_that_run_no_code_of_the_change():
    text = workflow_text(ProjectFacts(), default_branch="main")

    steps = text.split("\n      - ")
    holders = [step for step in steps if "secrets.PERFLEDGER_UPLOAD_TOKEN" in step]

    assert len(holders) == 2
    assert "perfledger history spreads" in holders[0]
    assert "perfledger upload" in holders[1]
    assert not any("perfledger check" in step or "pip" in step for step in holders)


@pytest.mark.parametrize("manager", EnvironmentManager)
def test_the_workflow_uploads_without_a_secret_and_keeps_the_right_to_from_the_change(manager):
    facts = ProjectFacts(manager=manager, is_installable=True)
    job = yaml.safe_load(workflow_text(facts, default_branch="main"))["jobs"]["check"]
    steps = {step["name"]: step for step in job["steps"] if "name" in step}
    set_up, check = steps["Make the environment of the workloads"], steps["Check the change"]

    assert job["permissions"] == {"contents": "read", "id-token": "write"}
    assert set_up["env"]["SET_UP"].splitlines() == list(environment_set_up(facts).commands)
    for step, command in ((set_up, 'bash -eo pipefail -c "$SET_UP"'), (check, "perfledger check")):
        before, _, _ = step["run"].partition(command)
        assert before.rstrip(" \\\n").endswith(
            "exec env -u ACTIONS_ID_TOKEN_REQUEST_URL -u ACTIONS_ID_TOKEN_REQUEST_TOKEN"
        )


def test_the_workflow_says_what_a_skipped_fork_means_and_runs_in_a_merge_queue():
    text = workflow_text(ProjectFacts(), default_branch="main")

    assert "GitHub counts a skipped job as\n# passed" in text
    for event in ("pull_request:", "merge_group:", "push:", "workflow_dispatch:"):
        assert f"\n  {event}" in text


def test_environments_that_git_would_add_are_named_with_their_lines():
    facts = ProjectFacts(has_environment=True, unignored_environments=(".venv", "env"))

    (sentence,) = advice(facts)

    assert sentence.startswith("git does not ignore .venv, env: add `/.venv/` and `/env/` to .git")


@pytest.mark.parametrize("has_large_files", [False, True])
def test_a_workflow_gets_the_content_of_files_in_git_lfs_if_there_are_any(has_large_files):
    facts = ProjectFacts(has_large_files=has_large_files)
    text = workflow_text(facts, default_branch="main")

    (checkout, *_) = yaml.safe_load(text)["jobs"]["check"]["steps"]

    assert checkout["with"].get("lfs", False) is has_large_files
