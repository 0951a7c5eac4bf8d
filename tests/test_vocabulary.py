"""One vocabulary: names of the product, held against the glossary and its rules."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
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
GLOSSARY = ROOT / "docs" / "glossary.md"
MAX_GLOSSARY_LINES = 250
MAX_DOC_WIDTH = 120
# What these words name is never clear without reading the code that made it: a result is a noun.
BARE_WORDS = frozenset(
    {
        "found",
        "told",
        "known",
        "kept",
        "said",
        "asked",
        "held",
        "whole",
        "drawn",
        "together",
        "wanted",
        "moved",
        "plain",
        "taken",
        "seen",
        "given",
        "made",
        "meant",
        "shown",
        "supposed",
        "detected",
        "happened",
        "utilized",
        "profiled",
        "figured",
        "sized",
        "covered",
        "elsewhere",
        "settled",
        "recalled",
        "compared",
        "translated",
    }
)
# The same for functions, which do or return something: what, their names have to say. As a flag or
# a column these words are clear.
PARTICIPLES = frozenset(
    {
        "answered",
        "assumed",
        "based",
        "billed",
        "blamed",
        "bought",
        "cached",
        "chosen",
        "collected",
        "committed",
        "configured",
        "counted",
        "decided",
        "declared",
        "demanded",
        "ended",
        "explained",
        "exposed",
        "failed",
        "finished",
        "fitted",
        "loaded",
        "lost",
        "mapped",
        "needed",
        "nested",
        "ordered",
        "owed",
        "owned",
        "parsed",
        "performed",
        "priced",
        "projected",
        "queued",
        "recorded",
        "refused",
        "replaced",
        "reported",
        "returned",
        "shared",
        "skipped",
        "stored",
        "supplied",
        "suspected",
        "written",
    }
)
# Fine as the variable of a loop or a comprehension, and as the name of nothing else.
LOOP_WORDS = frozenset(
    {
        "one",
        "each",
        "other",
        "others",
        "both",
        "it",
        "them",
        "this",
        "that",
        "these",
        "those",
        "own",
    }
)
# Words of earlier versions that stood for a term of the glossary.
RETIRED_WORDS = re.compile(r"(docket|errand|yielding|hub|catalog|anytime)s?")
# GitHub calls a header "x-hub-signature-256", and Google publishes a catalog.
RETIRED_TEXT = re.compile(r"\b(?:dockets?|errands?|yielding|(?<!x-)hubs?)\b", re.IGNORECASE)


@pytest.fixture(scope="module")
def trees() -> dict[Path, ast.Module]:
    """Every module of the product, parsed once."""
    return {path: ast.parse(path.read_text(encoding="utf-8")) for path in MODULES}


def loop_names(tree: ast.Module) -> set[ast.AST]:
    """Return the names that loops, comprehensions and lambdas bind."""
    targets = (
        node.args if isinstance(node, ast.Lambda) else node.target
        for node in ast.walk(tree)
        if isinstance(node, ast.For | ast.AsyncFor | ast.comprehension | ast.Lambda)
    )
    return {name for target in targets for name in ast.walk(target)}


def bound_names(tree: ast.Module) -> Iterator[tuple[str, int, bool]]:
    """Yield every name that a module binds, its line, and whether a loop binds it."""
    loops = loop_names(tree)
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield name, node.lineno, False
            case ast.arg(arg=name):
                yield name, node.lineno, node in loops
            case ast.ClassDef(name=name):
                yield name.lower(), node.lineno, False
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield name, node.lineno, node in loops
            case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                yield name, node.lineno, False
            case ast.ExceptHandler(name=str(name)):
                yield name, node.lineno, False
            case _:
                pass


@pytest.fixture(scope="module")
def names(trees) -> dict[Path, tuple[tuple[str, int, bool], ...]]:
    """What every module binds."""
    return {path: tuple(bound_names(tree)) for path, tree in trees.items()}


def test_a_public_class_name_stands_for_one_class(trees):
    homes: defaultdict[str, list[str]] = defaultdict(list)
    for path, tree in trees.items():
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes[node.name].append(str(path.relative_to(ROOT)))

    assert {name: paths for name, paths in homes.items() if len(paths) > 1} == {}


def test_no_class_is_imported_by_a_private_name(trees):
    private = [
        f"{path.relative_to(ROOT)}:{node.lineno}: {alias.name}"
        for path, tree in trees.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.name.startswith("_") and not alias.name.startswith("__")
    ]

    assert private == []


@pytest.mark.parametrize("source", SOURCES)
def test_no_result_is_named_by_a_bare_participle_or_pronoun(source, names):
    bare = [
        f"{path.relative_to(ROOT)}:{line}: {name}"
        for path, bound in names.items()
        if path.is_relative_to(ROOT / source)
        for name, line, in_loop in bound
        if name.strip("_") in BARE_WORDS or (name.strip("_") in LOOP_WORDS and not in_loop)
    ]

    assert bare == []


@pytest.mark.parametrize("source", SOURCES)
def test_no_function_of_a_module_is_named_by_a_bare_participle(source, trees):
    bare = [
        f"{path.relative_to(ROOT)}:{node.lineno}: {node.name}"
        for path, tree in trees.items()
        if path.is_relative_to(ROOT / source)
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and node.name.strip("_") in PARTICIPLES
    ]

    assert bare == []


def test_no_module_is_named_by_a_bare_participle_or_a_retired_word():
    names = {path: path.stem for path in MODULES} | {
        path.parent: path.parent.name for path in MODULES
    }

    assert [
        str(path.relative_to(ROOT))
        for path, name in names.items()
        if name in BARE_WORDS or RETIRED_WORDS.fullmatch(name)
    ] == []


def test_no_name_holds_a_retired_word(names):
    retired = [
        f"{path.relative_to(ROOT)}:{line}: {name}"
        for path, bound in names.items()
        for name, line, _ in bound
        if any(RETIRED_WORDS.fullmatch(part) for part in name.strip("_").split("_"))
    ]

    assert retired == []


def test_no_text_of_the_product_holds_a_retired_word():
    texts = [
        path
        for source in (*SOURCES, "templates", "docs")
        for path in (ROOT / source).rglob("*")
        if path.suffix in {".py", ".md", ".j2", ".toml"} and "migrations" not in path.parts
    ]

    assert {
        str(path.relative_to(ROOT)): words
        for path in texts
        if (words := RETIRED_TEXT.findall(path.read_text(encoding="utf-8")))
    } == {}


def terms() -> list[str]:
    rows = re.findall(
        r"^\| ([^|]+) \|[^|]+\|[^|]*\|$", GLOSSARY.read_text(encoding="utf-8"), re.MULTILINE
    )
    return [term.strip() for row in rows if row != "term" for term in row.split(", ")]


def test_the_glossary_gives_each_word_one_meaning_on_one_page():
    lines = GLOSSARY.read_text(encoding="utf-8").splitlines()

    assert sorted({term for term in terms() if terms().count(term) > 1}) == []
    assert len(lines) <= MAX_GLOSSARY_LINES
    assert [line for line in lines if len(line) > MAX_DOC_WIDTH] == []


@pytest.mark.parametrize(
    "word",
    ["Verdict", "Run", "Plan", "Metric", "Machine", "Report", "Profile", "Cause", "Workload"],
)
def test_the_glossarys_owner_keeps_the_bare_word(word, trees):
    classes = {
        node.name for tree in trees.values() for node in tree.body if isinstance(node, ast.ClassDef)
    }

    assert word.lower() in terms()
    assert word in classes
