"""Real repositories whose files import each other."""

import subprocess

import pytest

from perfledger_runners.checkouts.importing_files import importing_files
from perfledger_runners.checkouts.repository import Repository

IDENTITY = ("-c", "user.name=test", "-c", "user.email=test@example.invalid")


def commit(root, files):
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "files"]):
        subprocess.run(["git", *IDENTITY, *command], cwd=root, check=True)
    repository = Repository.open(root)
    return repository, repository.resolve("HEAD").sha


@pytest.mark.parametrize(
    ("path", "importer", "text"),
    [
        ("mine/core.py", "use.py", "import mine.core"),
        ("mine/core.py", "use.py", "from mine import core"),
        ("mine/core.py", "use.py", "def late():\n    from mine.core import work"),
        ("mine/core.py", "mine/use.py", "from .core import work"),
        ("mine/core.py", "mine/deep/use.py", "from .. import core"),
        ("mine/core.py", "mine/use.py", "import core"),
        ("src/mine/core.py", "use.py", "import mine.core as work"),
        ("src/core.py", "use.py", "import core"),
        ("core.py", "deep/use.py", "from core import *"),
        ("mine/__init__.py", "use.py", "import mine"),
    ],
)
def test_a_file_that_imports_another_is_found(tmp_path, path, importer, text):
    repository, sha = commit(tmp_path, {path: "", importer: text})

    assert importing_files(repository, sha, path) == (importer,)


@pytest.mark.parametrize(
    ("path", "importer", "text"),
    [
        ("mine/core.py", "use.py", "import core"),
        ("mine/core.py", "use.py", "import other.core"),
        ("mine/core.py", "use.py", "core = 1"),
        ("mine/core.py", "mine/deep/use.py", "from .core import work"),
        ("mine/core.py", "use.py", "import mine.core ("),
        ("mine/core.py", "use.txt", "import mine.core"),
        ("mine/core.py", "mine/core.py", "import mine.core"),
    ],
)
def test_a_file_that_imports_another_module_is_not_found(tmp_path, path, importer, text):
    repository, sha = commit(tmp_path, {path: "", importer: text})

    assert importing_files(repository, sha, path) == ()
