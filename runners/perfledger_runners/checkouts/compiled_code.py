"""Compares the code of C, C++ and CUDA files, ignoring comments and the amount of space."""

import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from perfledger_runners.checkouts.git import RepositoryError, git

# In lower case. Other compiled languages have other comments.
C_SUFFIXES = frozenset(
    (
        *(".c", ".cc", ".cpp", ".cxx", ".c++", ".h", ".hh", ".hpp", ".hxx", ".inl", ".ipp", ".tpp"),
        *(".cu", ".cuh", ".hip", ".cl", ".metal", ".mm"),
    )
)
# Generated files may be larger: they are compared byte by byte.
MAX_SOURCE_BYTES = 2 * 2**20
# cppimport reads a compiler's options from comments, also from those with a template alone.
READ_COMMENTS = re.compile(rb"cppimport|<%")
# A name or number is one token, so that its quotation marks (1'000, u8"x") begin no other text.
TOKENS = re.compile(
    rb"(?P<header>#[ \t]*include[ \t]*<[^>\n]*>)"
    rb"|(?P<comment>//(?:\\\r?\n|[^\n])*|/\*.*?\*/)"
    rb'|(?P<raw>(?:u8|[uUL])?R"(?P<mark>[^()\\\s]{0,16})\(.*?\)(?P=mark)")'
    rb"|(?P<space>\s+)"
    rb"|(?P<name>[A-Za-z_]\w*)"
    rb"|(?P<number>\.?\d(?:'\w|[eEpP][+-]|[\w.])*)"
    rb"""|(?P<text>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')"""
    rb"|(?P<other>.)",
    re.DOTALL,
)


def has_same_code(repository: Path, path: str, base: str, head: str) -> bool:
    """Return whether two objects of a repository are C sources with the same code.

    Sources of other languages, and those that the repository lacks, are not the same.
    """
    if PurePosixPath(path).suffix.lower() not in C_SUFFIXES:
        return False
    try:
        before, after = (git(repository, "cat-file", "blob", each) for each in (base, head))
    except RepositoryError:
        return False
    return is_same_c_code(before, after)


def is_same_c_code(base: bytes, head: bytes) -> bool:
    """Return whether two sources in C, C++ or CUDA have the same code.

    Line breaks count, because they end preprocessor directives. Sources that are too large, or
    whose comments may be read, are not the same.
    """
    if max(len(base), len(head)) > MAX_SOURCE_BYTES or READ_COMMENTS.search(base + head):
        return False
    return list(_tokens(base)) == list(_tokens(head))


def _tokens(source: bytes) -> Iterator[bytes]:
    """Yield the tokens of a source; what separates two of them is one space or line break.

    A source begins like a line.
    """
    gap = b"\n"
    for match in TOKENS.finditer(source):
        if match["comment"] is not None:
            gap = gap or b" "
        elif match["space"] is not None:
            gap = b"\n" if b"\n" in match["space"] else gap or b" "
        else:
            if gap:
                yield gap
            yield match[0]
            gap = b""
