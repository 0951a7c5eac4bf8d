"""One vocabulary: names of the product, held against the glossary and its rules."""

import ast
import re
from collections import defaultdict

from tests.product.modules import MODULES, ROOT, SOURCES, names_in, product_modules

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
        "room",
        "way",
        "ways",
    }
)
# The same for functions, which do or return something: what, their names have to say. As a flag or
# a column a participle is clear.
PARTICIPLE = re.compile(
    r"[a-z]*[^e]ed|begun|bought|broken|brought|built|chosen|drawn|gone|hidden|left|lost|met|owed|paid|sent"
    r"|sold|spent|won|written"
)
# Forms of a number, beside `digits` and `duration`.
FORMS = frozenset({"signed", "typed"})
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


def test_a_public_class_name_stands_for_one_class():
    homes: defaultdict[str, list[str]] = defaultdict(list)
    for path, module in product_modules().items():
        for name in module.classes:
            if not name.startswith("_"):
                homes[name].append(str(path.relative_to(ROOT)))

    assert {name: paths for name, paths in homes.items() if len(paths) > 1} == {}


def test_no_class_is_imported_by_a_private_name():
    private = [
        f"{path.relative_to(ROOT)}:{line}: {name}"
        for path, module in product_modules().items()
        for name, line in module.imported
        if name.startswith("_") and not name.startswith("__")
    ]

    assert private == []


def test_no_result_is_named_by_a_bare_participle_or_pronoun():
    bare = [
        f"{path.relative_to(ROOT)}:{line}: {name}"
        for path, module in product_modules().items()
        for name, line, in_loop in module.bound
        if name.strip("_") in BARE_WORDS or (name.strip("_") in LOOP_WORDS and not in_loop)
    ]

    assert bare == []


def test_no_result_of_a_test_a_benchmark_or_an_example_is_named_by_a_bare_participle():
    bare = [
        f"{path.relative_to(ROOT)}:{line}: {name}"
        for top in ("tests", "benchmarks", "examples")
        for path in sorted((ROOT / top).rglob("*.py"))
        for name, line, _ in names_in(ast.parse(path.read_text(encoding="utf-8"))).bound
        if name.strip("_") in BARE_WORDS
    ]

    assert bare == []


def test_no_function_of_a_module_is_named_by_a_bare_participle():
    bare = [
        f"{path.relative_to(ROOT)}:{line}: {name}"
        for path, module in product_modules().items()
        for name, line in module.functions
        if PARTICIPLE.fullmatch(name.strip("_")) and name not in FORMS
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


def test_no_name_holds_a_retired_word():
    retired = [
        f"{path.relative_to(ROOT)}:{line}: {name}"
        for path, module in product_modules().items()
        for name, line, _ in module.bound
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


def rows() -> list[tuple[str, str]]:
    """Return the terms of each row, and their source."""
    text = GLOSSARY.read_text(encoding="utf-8")
    cells = re.findall(r"^\| ([^|]+) \|[^|]+\|([^|]*)\|$", text, re.MULTILINE)
    return [(names, source.strip()) for names, source in cells if names != "term"]


def terms() -> list[str]:
    return [term.strip() for names, _ in rows() for term in names.split(", ")]


def test_the_glossary_gives_each_word_one_meaning_on_one_page():
    lines, all_terms = GLOSSARY.read_text(encoding="utf-8").splitlines(), terms()

    assert sorted({term for term in all_terms if all_terms.count(term) > 1}) == []
    assert len(lines) <= MAX_GLOSSARY_LINES
    assert [line for line in lines if len(line) > MAX_DOC_WIDTH] == []


def test_every_term_of_the_glossary_has_a_source_or_is_marked_as_our_own():
    assert [names for names, source in rows() if not source] == []


def test_the_glossarys_owner_keeps_the_bare_word():
    words = {
        "Verdict",
        "Run",
        "Plan",
        "Metric",
        "Machine",
        "Report",
        "Profile",
        "Cause",
        "Workload",
    }
    classes = {name for module in product_modules().values() for name in module.classes}

    assert {word.lower() for word in words} <= {*terms()}
    assert words <= classes
