"""Lints the workflows and the action that GitHub runs, and those that users get."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from perfledger.records import Framework
from perfledger_service.rendering.check.init import workflow_text
from perfledger_service.values.project_facts import EnvironmentManager, ProjectFacts

ROOT = Path(__file__).parents[1]
ACTION = ROOT / "action.yml"
GUIDE = ROOT / "docs" / "how-to" / "github-jobs.md"
OURS = ROOT / ".github" / "workflows" / "ci.yml"
CALLED = OURS.with_name("check.yml")
CALLERS_GUIDE = GUIDE.with_name("reuse-the-workflow.md")
# One for each way to make an environment, and one for a device.
PROJECTS = (
    ProjectFacts(framework=Framework.TORCH, has_large_files=True),
    *(ProjectFacts(manager=manager, has_requirements=True) for manager in EnvironmentManager),
)
PINNED = re.compile(r"[\w-]+/[\w./-]+@[0-9a-f]{40} # v[\d.]+")


@pytest.fixture
def lint(require_system):
    """Return a function that runs a linter of the development environment on files."""

    def lint(program, *arguments):
        beside = [Path(sys.executable).parent]
        tool = require_system(program, package=f"{program}, by pip", folders=beside)
        done = subprocess.run([tool, *arguments], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    return lint


@pytest.fixture
def workflows(tmp_path):
    """Return our workflows, what `perfledger init` writes for several projects, and the guides'."""
    folder = tmp_path / ".github" / "workflows"
    folder.mkdir(parents=True)
    for number, facts in enumerate(PROJECTS):
        (folder / f"{number}.yml").write_text(workflow_text(facts, default_branch="main"))
    (of_jobs,) = re.findall(r"```yaml\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    (folder / "job.yml").write_text(of_jobs)
    (folder / "called.yml").write_text(caller())
    return [OURS, CALLED, *sorted(folder.iterdir())]


def caller():
    """Return the workflow of a repository that calls ours, as the guide has it."""
    (text,) = re.findall(r"```yaml\n(.*?)```", CALLERS_GUIDE.read_text("utf-8"), re.DOTALL)
    return text


@pytest.mark.slow
def test_zizmor_finds_nothing(lint, workflows):
    status, printed = lint("zizmor", "--offline", "--no-config", *workflows, ACTION)

    assert status == 0, printed


@pytest.mark.slow
def test_zizmor_finds_what_is_planted(lint, tmp_path):
    planted = tmp_path / "action.yml"
    text = ACTION.read_text().replace(
        "perfledger history", 'echo "${{ github.head_ref }}" && perfledger history'
    )
    planted.write_text(text)

    status, printed = lint("zizmor", "--offline", "--no-config", planted)

    assert status != 0
    assert "template-injection" in printed


@pytest.mark.slow
def test_workflows_and_the_action_have_the_form_that_github_publishes(lint, workflows):
    for schema, files in (("workflows", workflows), ("actions", [ACTION])):
        status, printed = lint(
            "check-jsonschema", "--builtin-schema", f"vendor.github-{schema}", *files
        )

        assert status == 0, printed


@pytest.mark.slow
def test_a_step_without_a_command_has_not_that_form(lint, tmp_path):
    planted = tmp_path / "action.yml"
    planted.write_text(ACTION.read_text().replace("using: composite", "using: magic"))

    status, _ = lint("check-jsonschema", "--builtin-schema", "vendor.github-actions", planted)

    assert status != 0


def test_every_action_is_pinned_by_its_hash(workflows):
    for file in (*workflows, ACTION):
        used = re.findall(r"^ +(?:- )?uses: (.*)", file.read_text(), re.MULTILINE)

        assert used
        assert all(PINNED.fullmatch(each) for each in used)


def test_the_action_and_the_workflow_have_the_same_steps(workflows):
    # In a matrix each job must keep its bundle under another name.
    text = ACTION.read_text().replace("${{ inputs.artifact }}", "perfledger-bundle")
    action, workflow = steps_of(text), steps_of(workflows[2].read_text())

    assert text != ACTION.read_text()
    assert len(action) == 5
    assert action == {name: workflow[name] for name in action}


def test_the_called_workflow_has_the_steps_of_the_action():
    action, workflow = steps_of(ACTION.read_text()), steps_of(CALLED.read_text())

    assert {name: workflow[name] for name in action} == action
    assert set(workflow) - set(action) == {"Make the environment of the workloads"}


def test_the_called_workflow_asks_for_no_more_than_to_read_and_hides_its_secret():
    text = CALLED.read_text()
    called = yaml.safe_load(text)
    (job,) = called["jobs"].values()
    with_secret = {
        step.get("name") for step in job["steps"] if "secrets." in json.dumps(step.get("env", {}))
    }

    assert (called["permissions"], job["permissions"]) == ({}, {"contents": "read"})
    assert text.count("secrets.upload-token") == len(with_secret) == 2
    assert "Check the change" not in with_secret
    # In a command GitHub would paste an input as code; in the environment it is only text.
    assert not any("${{" in step.get("run", "") for step in job["steps"])


def test_the_guide_gives_only_inputs_that_the_called_workflow_has():
    offered = yaml.safe_load(CALLED.read_text())[True]["workflow_call"]  # YAML reads "on" as true
    (job,) = yaml.safe_load(caller())["jobs"].values()
    table = re.findall(r"^\| `([\w-]+)` \|", CALLERS_GUIDE.read_text("utf-8"), re.MULTILINE)

    assert set(job["with"]) <= set(offered["inputs"])
    assert set(job["secrets"]) <= set(offered["secrets"])
    assert table == list(offered["inputs"])


def steps_of(text):
    """Return what each named step runs or uses, without its indentation and environment."""
    steps = re.split(r"\n +- name: ", text)[1:]
    return {step.partition("\n")[0]: command_of(step) for step in steps}


def command_of(step):
    lines = [line.strip() for line in step.splitlines() if not line.strip().startswith("#")]
    start = next(place for place, line in enumerate(lines) if line.startswith(("run:", "uses:")))
    end = lines.index("env:") if "env:" in lines else len(lines)
    return lines[start:end]


def base_of(expression, values):
    """Return the value of an expression of GitHub's; what `values` lacks is null, as there."""
    python = re.sub(r"(?:github|inputs)(?:\.\w+)+", r"value('\g<0>')", expression)
    for theirs, ours in (("&&", " and "), ("||", " or "), ("!value", "not value")):
        python = python.replace(theirs, ours)
    scope = {"value": values.get, "format": lambda text, *parts: text.format(*parts)}
    return eval(" ".join(python.split()), scope)


PUSHED = {
    "github.sha": "c3",
    "github.ref_name": "main",
    "github.event.repository.default_branch": "main",
    "github.event.before": "c0",
    "github.event.forced": False,
    "github.event.created": False,
}


@pytest.mark.parametrize(
    ("values", "base"),
    [
        (PUSHED, "c0"),  # of three commits, not the last one alone
        ({**PUSHED, "github.event.forced": True}, "c3~1"),  # the clone may lack what was before
        ({**PUSHED, "github.event.created": True, "github.event.before": "0" * 40}, "c3~1"),
        ({**PUSHED, "github.event.before": None}, "c3~1"),  # started by hand
        ({**PUSHED, "github.ref_name": "topic", "github.event.before": None}, "origin/main"),
        ({**PUSHED, "inputs.base": "v1", "github.event.before": None}, "v1"),
        ({**PUSHED, "github.event.pull_request.base.sha": "b"}, "b"),
        ({**PUSHED, "github.event.merge_group.base_sha": "m"}, "m"),
    ],
)
def test_a_push_is_compared_with_the_commit_before_all_of_its_commits(values, base):
    called = yaml.safe_load(CALLED.read_text("utf-8"))["jobs"]["check"]["env"]["BASE"]
    steps = yaml.safe_load(workflow_text(PROJECTS[0], default_branch="main"))["jobs"]["check"]
    (written,) = (
        each["env"]["BASE"] for each in steps["steps"] if each.get("name") == "Check the change"
    )

    for expression in (called, written):
        assert base_of(expression.removeprefix("${{").removesuffix("}}"), values) == base
