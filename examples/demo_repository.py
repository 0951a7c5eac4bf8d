"""Builds a git repository with two pull-request branches from the example repository."""

import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parent
IDENTITY = {"NAME": "Demo Author", "EMAIL": "author@example.com"}
REPOSITORY = "acme/models"


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch:
    """A future pull request: the files that replace those of main, and its texts."""

    name: str
    pull_request: int
    overlay: Path
    subject: str
    body: str
    slower: str = ""  # the workload that it slows down


BRANCHES = (
    Branch(
        name="attention-maps",
        pull_request=1,
        overlay=EXAMPLES / "branches" / "slow",
        subject="Return the attention weights, so that attention maps can be logged",
        body="The block drops them for now. Same losses as before on the same seed.",
        slower="benchmarks.torch_gpt:train_step",
    ),
    Branch(
        name="resnet-names",
        pull_request=2,
        overlay=EXAMPLES / "branches" / "innocent",
        subject="Name the parts of the ResNet after what they do",
        body="A convolution and its norm become one module; no change in what is computed.",
    ),
)


class DemoError(Exception):
    """A failed part of the demo, with what to look at."""


def build_repository(folder: Path) -> None:
    """Make `folder` a git repository: main, and one branch with one commit for each of BRANCHES."""
    shutil.copytree(
        EXAMPLES / "repository", folder, ignore=shutil.ignore_patterns("__pycache__", ".*")
    )
    (folder / ".gitignore").write_text("__pycache__/\n", encoding="utf-8")
    git(folder, "init", "--quiet", "--initial-branch=main")
    _commit(folder, "Add the models and their benchmarks")
    for branch in BRANCHES:
        git(folder, "switch", "--quiet", "--create", branch.name, "main")
        shutil.copytree(branch.overlay, folder, dirs_exist_ok=True)
        _commit(folder, branch.subject, branch.body)
    git(folder, "switch", "--quiet", "main")


def commit_of(folder: Path, revision: str) -> str:
    """Return the 40 hex digits of a revision."""
    return git(folder, "rev-parse", "--verify", f"{revision}^{{commit}}").strip()


def git(folder: Path, *arguments: str) -> str:
    """Run git in `folder` without the user's configuration, and return its output."""
    try:
        done = subprocess.run(
            ["git", *arguments],
            cwd=folder,
            env=_environment(os.environ),
            capture_output=True,
            text=True,
            check=True,
        )
    except FileNotFoundError:
        msg = "git is not installed: the demo builds a repository with it"
        raise DemoError(msg) from None
    except subprocess.CalledProcessError as error:
        msg = f"git {' '.join(arguments)} failed in {folder}: {error.stderr.strip()}"
        raise DemoError(msg) from error
    return done.stdout


def _commit(folder: Path, *paragraphs: str) -> None:
    git(folder, "add", "--all")
    messages = [part for paragraph in paragraphs for part in ("--message", paragraph)]
    git(folder, "commit", "--quiet", *messages)


def _environment(outer: Mapping[str, str]) -> dict[str, str]:
    """Return `outer` without variables that redirect git, such as those of a hook."""
    inherited = {name: value for name, value in outer.items() if not name.startswith("GIT_")}
    identity = {
        f"GIT_{role}_{name}": value
        for role in ("AUTHOR", "COMMITTER")
        for name, value in IDENTITY.items()
    }
    return {**inherited, **identity, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
