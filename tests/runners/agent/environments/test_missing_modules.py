"""Asks this Python and broken ones which modules they do not have."""

import sys
from pathlib import Path

import pytest

from perfledger_runners.environments.missing_modules import missing_modules

PYTHON = Path(sys.executable)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "missing"),
    [
        ("import absent_a.part\nfrom absent_b import c\n", ("absent_a", "absent_b")),
        ("import json, absent_a\nimport os.path\n", ()),  # what follows is found with its own line
        ("import perfledger\nfrom __future__ import annotations\nfrom . import absent_a\n", ()),
        ("try:\n    import absent_a\nexcept ImportError:\n    pass\n", ()),
        ('"""Reads data\nfrom files\nimport carefully."""\nimport absent_a\n', ("absent_a",)),
        ("import absent_a\ndef\n", ()),
        ("from own import thing\nfrom model import other\n", ()),
    ],
)
def test_modules_that_are_imported_first_of_all_and_are_not_there_are_missing(text, missing):
    modules = missing_modules(PYTHON, {"a.py": text}, paths=("lib/own/b.py", "model.py"))

    assert modules == dict.fromkeys(missing, "a.py")


@pytest.mark.slow
def test_the_first_file_that_imports_a_missing_module_is_named():
    texts = {"b.py": "import absent_a\n", "a.py": "import absent_a\n", "c.py": "import absent_c\n"}

    modules = missing_modules(PYTHON, texts, paths=texts)

    assert modules == {"absent_a": "a.py", "absent_c": "c.py"}


@pytest.mark.parametrize("script", ["exit 1", "echo no list", "echo '{}'"])
def test_a_python_that_does_not_answer_lacks_nothing(tmp_path, script):
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\n{script}\n")
    python.chmod(0o755)
    texts = {"a.py": "import absent_a\n"}

    assert missing_modules(python, texts, paths=()) == {}
    assert missing_modules(tmp_path / "none", texts, paths=()) == {}


def test_without_imports_no_python_is_asked(tmp_path):
    assert missing_modules(tmp_path / "none", {"a.py": "x = 1\n"}, paths=()) == {}
