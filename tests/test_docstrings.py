"""One grammar of docstrings: functions command, classes and modules say what they are or do."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCES = ("service", "runners", "baselines", "cost_models")
MODULES = sorted(
    path
    for source in SOURCES
    for path in (ROOT / source).rglob("*.py")
    if "migrations" not in path.parts
)
# An imperative begins with none of these.
NO_VERBS = {"A", "An", "The", "This", "These", "It", "What", "Whether", "Which", "How", "Where"}
# Nouns that are verbs as well: a class and a module may begin with them.
NOUNS = {
    "Attempt",
    "Bill",
    "Count",
    "Draw",
    "Exit",
    "Load",
    "Measure",
    "Name",
    "Note",
    "Place",
    "Plan",
    "Price",
    "Profile",
    "Project",
    "Queue",
    "Record",
    "Report",
    "Sample",
    "Share",
    "Spread",
    "Step",
    "Test",
    "Time",
    "Upload",
    "Use",
    "Wait",
    "Watch",
}


def first_word(node):
    docstring = ast.get_docstring(node) or ""
    return docstring.split(maxsplit=1)[0].rstrip(",:;") if docstring else ""


@pytest.fixture(scope="module")
def docstrings():
    """The first words of all docstrings: kind of node, place, name and word."""
    nodes = (
        (path, node)
        for path in MODULES
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Module)
    )
    return tuple(
        (type(node), f"{path.relative_to(ROOT)}: {name}: {word}", name, word)
        for path, node in nodes
        if (word := first_word(node))
        for name in [getattr(node, "name", "module")]
    )


@pytest.fixture(scope="module")
def verbs(docstrings):
    """The verbs with which functions' docstrings begin."""
    return {word for kind, _, _, word in docstrings if kind is ast.FunctionDef} - NO_VERBS - NOUNS


def test_a_functions_docstring_is_an_imperative_sentence(docstrings):
    assert [
        place
        for kind, place, name, word in docstrings
        if kind is ast.FunctionDef and word in NO_VERBS and not name.startswith("_")
    ] == []


def test_a_classs_docstring_is_a_noun_phrase(docstrings, verbs):
    forms = verbs | {f"{verb}s" for verb in verbs}

    assert [
        place for kind, place, _, word in docstrings if kind is ast.ClassDef and word in forms
    ] == []


def test_a_modules_docstring_does_not_command(docstrings, verbs):
    assert [
        place for kind, place, _, word in docstrings if kind is ast.Module and word in verbs
    ] == []
