"""Chooses workloads by patterns of their ids and by expressions over ids and tags."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial

from perfledger.records import WorkloadSpec
from perfledger.registration.workload_pattern import is_match
from perfledger_service.errors import UsageError

MAX_EXPRESSION_LENGTH = 1000  # characters of `-k`
MAX_NESTED = 50  # parentheses and nots: each is a few calls deep
# As in pytest's -k, and "=" and "," of ids.
_TOKEN = re.compile(r"\s*(?:(?P<word>[\w:+.\[\]\\/=,-]+)|(?P<sign>[()]))")
_OPERATORS = frozenset({"and", "or", "not"})

# The letters of a word that stand together in a name: "Class" and "time_sum" of "Class.time_sum". A
# part that starts with a digit may be of a value that no text holds.
_PART = re.compile(r"(?<!\w)[^\W\d]\w*")

# Returns whether something contains a word; None if that is unknown.
HasWord = Callable[[str], bool | None]
# An expression: whether it chooses what contains these words.
Test = Callable[[HasWord], bool | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadChoice:
    """The workloads that match one of `globs` (all if there are none) and the `expression`.

    An expression is as in pytest: words with `and`, `or`, `not` and parentheses. A word matches if
    the id or a tag contains it, ignoring case. Raises UsageError for anything else.
    """

    globs: tuple[str, ...] = ()
    expression: str = ""
    _test: Test = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_test", _Parser(self.expression).parse())

    def is_chosen(self, spec: WorkloadSpec) -> bool:
        """Return whether the workload is chosen."""
        matches = not self.globs or any(is_match(glob, spec.id) for glob in self.globs)
        return matches and self._test(partial(_contains, spec)) is True

    def may_choose(self, module: str, text: str) -> bool:
        """Return whether workloads of a module may be chosen, in whose text all their names are."""
        modules = [glob.partition(":")[0] if ":" in glob else "*" for glob in self.globs]
        matches = not modules or any(is_match(each, module) for each in modules)
        return matches and self._test(partial(_may_contain, module, text.lower())) is not False

    def __str__(self) -> str:
        """Return the options that make this choice, "" if all are chosen."""
        options = [f"--workload {glob}" for glob in self.globs]
        return " ".join([*options, *([f"-k {self.expression!r}"] if self.expression else [])])


class _Parser:
    """A recursive-descent parser of one expression."""

    def __init__(self, expression: str) -> None:
        self._expression = expression
        self._tokens = _tokens(expression)
        self._place = 0

    def parse(self) -> Test:
        """Return the expression as a function of a workload."""
        if not self._tokens:
            return lambda _: True
        if sum(token in {"(", "not"} for token in self._tokens) > MAX_NESTED:
            raise _error(self._expression, f"it has more than {MAX_NESTED} parentheses and nots")
        test = self._alternatives()
        if self._next() is not None:
            raise _error(self._expression, f"{self._next()!r} comes after its end")
        return test

    def _alternatives(self) -> Test:
        tests = [self._conjunction()]
        while self._accept("or"):
            tests.append(self._conjunction())
        return lambda has: _any(test(has) for test in tests)

    def _conjunction(self) -> Test:
        tests = [self._single()]
        while self._accept("and"):
            tests.append(self._single())
        return lambda has: _not(_any(_not(test(has)) for test in tests))

    def _single(self) -> Test:
        if self._accept("not"):
            negated = self._single()
            return lambda has: _not(negated(has))
        if self._accept("("):
            test = self._alternatives()
            if not self._accept(")"):
                raise _error(self._expression, "a parenthesis is not closed")
            return test
        word = self._next()
        if word is None or word in _OPERATORS or word == ")":
            missing = "its end" if word is None else repr(word)
            raise _error(self._expression, f"a word is missing before {missing}")
        self._place += 1
        return lambda has: has(word)

    def _accept(self, token: str) -> bool:
        is_next = self._next() == token
        self._place += is_next
        return is_next

    def _next(self) -> str | None:
        return self._tokens[self._place] if self._place < len(self._tokens) else None


def _tokens(expression: str) -> tuple[str, ...]:
    if len(expression) > MAX_EXPRESSION_LENGTH:
        raise _error(expression, f"it has more than {MAX_EXPRESSION_LENGTH} characters")
    tokens: list[str] = []
    text, place = expression.rstrip(), 0
    while place < len(text):
        token = _TOKEN.match(text, place)
        if token is None:
            raise _error(expression, f"{text[place:].lstrip()[0]!r} is not part of a word")
        tokens.append(token["word"] or token["sign"])
        place = token.end()
    return tuple(tokens)


def _any(answers: Iterable[bool | None]) -> bool | None:
    """Return whether one of the answers is true; None if that is unknown."""
    unique = set(answers)
    return True if True in unique else None if None in unique else False


def _not(answer: bool | None) -> bool | None:
    return None if answer is None else not answer


def _may_contain(module: str, text: str, word: str) -> bool | None:
    """Return whether the ids of a module's workloads contain a word; None for some of them."""
    if word.lower() in module.lower():
        return True
    parts = (part.lower() for part in _PART.findall(word))
    return None if all(part in text or part in module.lower() for part in parts) else False


def _contains(spec: WorkloadSpec, word: str) -> bool:
    return any(word.lower() in name.lower() for name in (spec.id, *spec.tags))


def _error(expression: str, problem: str) -> UsageError:
    text = expression if len(expression) <= MAX_EXPRESSION_LENGTH else f"{expression[:40]}…"
    return UsageError(f"-k {text!r}: {problem}; write words with and, or, not and parentheses")
