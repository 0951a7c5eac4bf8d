"""Names the benchmarks of other tools as workloads."""

from collections.abc import Iterable
from hashlib import sha256

from perfledger.registration.argument_faults import (
    MAX_ID_LENGTH,
    MAX_TAG_LENGTH,
    MAX_TAGS,
    tags_fault,
)

# Marks that say how a test is run, not what it is.
_OTHER_MARKS = frozenset(
    ("parametrize", "usefixtures", "filterwarnings", "skip", "skipif", "xfail", "benchmark")
)
DIGEST_LETTERS = 12  # of the digest that ends a shortened id
_IN_CODE = "`\"'"  # they would break a code span


def short_id(name: str) -> str:
    """Return an id of at most MAX_ID_LENGTH letters; a longer one ends with its digest."""
    if len(name) <= MAX_ID_LENGTH:
        return name
    digest = sha256(name.encode(errors="surrogatepass")).hexdigest()[:DIGEST_LETTERS]
    end = f"~{digest}{']' if name.endswith(']') else ''}"
    return name[: MAX_ID_LENGTH - len(end)] + end


def workload_id(node_id: str) -> str:
    """Return the id of a test: its file as a module, its classes and name, its parameters."""
    name, bracket, parameters = node_id.partition("::")[2].partition("[")
    letters = (each if each.isprintable() and each not in _IN_CODE else "_" for each in parameters)
    return short_id(f"{module_name(node_id)}:{name.replace('::', '.')}{bracket}{''.join(letters)}")


def module_name(node_id: str) -> str:
    """Return the file of a test as a module."""
    return node_id.partition("::")[0].removesuffix(".py").replace("/", ".")


def file_of_test(workload: str) -> str:
    """Return the file of a test by its workload's id."""
    return workload.partition(":")[0].replace(".", "/") + ".py"


def tags_of(marks: Iterable[str]) -> tuple[str, ...]:
    """Return the names of a test's marks that are usable as tags."""
    names = dict.fromkeys(mark for mark in marks if mark not in _OTHER_MARKS)
    return tuple(name for name in names if len(name) <= MAX_TAG_LENGTH and not tags_fault([name]))[
        :MAX_TAGS
    ]
