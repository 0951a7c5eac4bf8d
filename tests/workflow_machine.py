"""A machine on which the workflow of the guide runs, as GitHub's runner would run it."""

import io
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import yaml

from tests.service.short_runs import PROGRAM

GUIDE = Path(__file__).parent.parent / "docs" / "how-to" / "github-jobs.md"
EXPRESSION = re.compile(r"\$\{\{ inputs\.(\w+) \}\}")


class WorkflowMachine:
    """Runs a dispatched workflow at once, and gives its artifact to a stand-in for GitHub."""

    def __init__(self, state, origin, folder):
        self.state, self.origin, self.folder = state, origin, folder
        (text,) = re.findall(r"```yaml\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
        self.workflow = yaml.safe_load(text)
        (self.job,) = self.workflow["jobs"].values()
        self.checkout, _, self.measure, self.keep = self.job["steps"]
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
        head = self._filled(self.checkout["with"]["ref"], run)
        subprocess.run(["git", "clone", "-q", self.origin, workspace], check=True)
        subprocess.run(["git", "-C", workspace, "checkout", "-q", head], check=True)
        script = self.folder / "step.py"
        script.write_text(self.measure["run"])
        environment = {
            "PATH": f"{self.folder / 'bin'}:/usr/bin:/bin",
            "HOME": str(self.folder),
            **{name: self._filled(text, run) for name, text in self.measure["env"].items()},
        }
        subprocess.run([sys.executable, script], cwd=workspace, env=environment, check=True)
        kept = io.BytesIO()
        with zipfile.ZipFile(kept, "w") as archive:
            for file in (workspace / self.keep["with"]["path"]).iterdir():
                archive.write(file, file.name)
        key = self.state.new_id()
        entry = {"id": key, "run": str(run["id"]), "name": self.keep["with"]["name"]}
        self.state.kept[str(key)] = entry | {"data": kept.getvalue()}
        jobs = [{"id": self.state.new_id(), "runner_name": "gpu7"}]
        run.update(status="completed", conclusion="success", jobs=jobs)

    def _filled(self, text, run):
        """Return a text with its inputs; those that a dispatch leaves out are empty."""
        return EXPRESSION.sub(lambda match: run["inputs"].get(match[1], ""), text)
