"""A repository on disk whose commits a test makes."""

import subprocess

from perfledger_runners.checkouts.repository import Repository
from perfledger_runners.checkouts.workload_overlay import find_workload_source
from perfledger_service.usecases.check.revisions import (
    configuration_from,
    configuration_of,
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
