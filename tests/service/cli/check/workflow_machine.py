"""A machine on which the workflow of the guide runs, as GitHub's runner would run it."""

import io
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import yaml

from tests.service.short_runs import PROGRAM

GUIDE = Path(__file__).parents[4] / "docs" / "how-to" / "github-jobs.md"
DEFAULT_BRANCH = "${{ github.event.repository.default_branch }}"
EXPRESSION = re.compile(r"\$\{\{ inputs\.(\w+) \}\}")


class WorkflowMachine:
    """Runs a dispatched workflow at once, and gives its artifact to a stand-in for GitHub."""

    def __init__(self, state, origin, folder):
        self.state, self.origin, self.folder = state, origin, folder
        self.default_branch = "main"
        (text,) = re.findall(r"```yaml\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
        self.workflow = yaml.safe_load(text)
        (self.job,) = self.workflow["jobs"].values()
        self.checkout, *self.commands, _, self.measure, self.keep = self.job["steps"]
        program = folder / "bin" / "perfledger"
        program.parent.mkdir(parents=True)
        words = " ".join((sys.executable, *PROGRAM))
        program.write_text(f'#!/bin/sh\nexec {words} "$@"\n')
        program.chmod(0o755)

    @property
    def inputs(self):
        """The names of the workflow's inputs; YAML takes the word "on" for True."""
        return list(self.workflow[True]["workflow_dispatch"]["inputs"])

    def run(self, run):
        """Check out, measure, and keep the result."""
        workspace = self.folder / str(run["id"])
        self._check_out(workspace, self._filled(self.checkout["with"]["ref"], run))
        for step in self.commands:
            environment = os.environ | self._environment(step, run)
            command = ["bash", "-e", "-c", step["run"]]
            subprocess.run(command, cwd=workspace, env=environment, check=True)
        script = self.folder / "step.py"
        script.write_text(self.measure["run"])
        environment = {
            "PATH": f"{self.folder / 'bin'}:/usr/bin:/bin",
            "HOME": str(self.folder),
            **self._environment(self.measure, run),
        }
        subprocess.run([sys.executable, script], cwd=workspace, env=environment, check=True)
        kept_stream = io.BytesIO()
        with zipfile.ZipFile(kept_stream, "w") as archive:
            for file in (workspace / self.keep["with"]["path"]).iterdir():
                archive.write(file, file.name)
        key = self.state.new_id()
        entry = {"id": key, "run": str(run["id"]), "name": self.keep["with"]["name"]}
        self.state.archives[str(key)] = entry | {"data": kept_stream.getvalue()}
        jobs = [{"id": self.state.new_id(), "runner_name": "gpu7"}]
        run.update(status="completed", conclusion="success", jobs=jobs)

    def _check_out(self, workspace, head):
        """Fetch and check out as actions/checkout does, which sets no origin/HEAD."""
        branches = "+refs/heads/*:refs/remotes/origin/*"
        for words in (
            ("init", "-q", workspace),
            ("-C", workspace, "remote", "add", "origin", self.origin),
            ("-C", workspace, "fetch", "-q", "origin", branches),
            ("-C", workspace, "checkout", "-q", "--detach", head),
        ):
            subprocess.run(["git", *words], check=True)

    def _environment(self, step, run):
        """Return a step's variables."""
        return {name: self._filled(text, run) for name, text in step.get("env", {}).items()}

    def _filled(self, text, run):
        """Return a text with its inputs; those that a dispatch leaves out are empty."""
        text = text.replace(DEFAULT_BRANCH, self.default_branch)
        return EXPRESSION.sub(lambda match: run["inputs"].get(match[1], ""), text)
