"""One grammar of docstrings: functions command, classes and modules say what they are or do."""

import ast

from tests.product.modules import ROOT, product_modules

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


def beginnings(kind):
    """Return the docstrings of functions, classes or modules: place, name and first word."""
    return tuple(
        (f"{path.relative_to(ROOT)}: {each.name}: {each.word}", each.name, each.word)
        for path, module in product_modules().items()
        for each in module.docstrings
        if each.kind is kind
    )


def verbs():
    """Return the verbs with which functions' docstrings begin."""
    return {word for _, _, word in beginnings(ast.FunctionDef)} - NO_VERBS - NOUNS


def test_a_functions_docstring_is_an_imperative_sentence():
    assert [
        place
        for place, name, word in beginnings(ast.FunctionDef)
        if word in NO_VERBS and not name.startswith("_")
    ] == []


def test_a_classs_docstring_is_a_noun_phrase():
    forms = verbs() | {f"{verb}s" for verb in verbs()}

    assert [place for place, _, word in beginnings(ast.ClassDef) if word in forms] == []


def test_a_modules_docstring_does_not_command():
    commands = verbs()

    assert [place for place, _, word in beginnings(ast.Module) if word in commands] == []
