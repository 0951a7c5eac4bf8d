"""Escapes untrusted text for Markdown, terminals, CSV and paths.

Text from a pull request (names, parameters, errors, logs, commit subjects) passes through `code` or
`fence`; our sentences that may quote it pass through `prose`.
"""

import re
import unicodedata
from collections.abc import Collection, Sequence
from itertools import accumulate, groupby
from urllib.parse import quote

from markupsafe import Markup

MAX_NAME = 80  # characters; longer names push the table off the screen
MAX_LONG_NAME = 200  # of a name with a line or a column of its own
MAX_PROSE = 400
EMPTY = "(empty)"
ELLIPSIS = "\N{HORIZONTAL ELLIPSIS}"
UNKNOWN_CHARACTER = "\N{REPLACEMENT CHARACTER}"

# Controls, bidirectional overrides and other invisible formatting: never shown.
_INVISIBLE = frozenset({"Cc", "Cf", "Zl", "Zp"})
# Surrogates, private and unassigned code points: shown as the replacement character.
_UNKNOWN = frozenset({"Cs", "Co", "Cn"})

# A spreadsheet treats a cell that begins with one of these as a formula; the last four are the
# full-width forms of East Asian keyboards.
_FORMULAS = tuple("=+-@\uff1d\uff0b\uff0d\uff20")
# Also characters that it may skip before these, and the apostrophe that `exact_cell` prepends.
_EXACT_FORMULAS = (*_FORMULAS, "\t", "\r", "\n", "'")
_NUMBER = re.compile(r"[+-]\d+(?:\.\d+)?(?:[eE][+-]?\d+)?", re.ASCII)

_LINK = re.compile(r"https?://[A-Za-z0-9._~:/?#@!$&'*+,;=%-]+")

# Words without a meaning in Markdown, GitHub's mentions or its autolinks: letters, figures, and
# products such as H100 or p5.48xlarge, but no run of hexadecimal digits that may name a commit.
_WORD = r"[A-Za-z]+(?:['-][A-Za-z]+)*"
_FIGURE = r"[+±-]?\d[\d,]*(?:\.\d+)?(?:e[+-]\d+)?%?"
_PRODUCT = r"(?![0-9a-f]{7,40}(?![0-9A-Za-z]))[A-Za-z]*\d[A-Za-z0-9]*(?:\.\d[A-Za-z0-9]*)?"
_SIGN = "(?:[%=/\N{RIGHTWARDS ARROW}]|\N{MICRO SIGN}s)"
# "benchmarks.gpt:train_step[batch=8,size=2]", and where a line may break in it.
_PART = r"[A-Za-z0-9]+(?:_+[A-Za-z0-9]+)*"
_WORKLOAD = re.compile(rf"{_PART}(?:[.:]{_PART})*(?:\[{_PART}(?:[=,.]{_PART})*\])?")
_BREAK = re.compile(r"(?<=[.:,])|(?=\[)")
_WITHIN_BACKTICKS = r"[^`\s](?:[^`]*[^`\s])?"  # "perfledger check --resume"
_QUOTED = rf"\(?`{_WITHIN_BACKTICKS}`\)?"
_QUOTED_IN_HTML = re.compile(rf"(?<![^\s(])`({_WITHIN_BACKTICKS})`(?=[),.;:]*(?:\s|$))")
_LIST_MARKER = re.compile(r"\d+[.)]")  # would begin a list at the start of a line
_PLAIN_WORD = re.compile(rf"[(]?(?:{_WORD}|{_FIGURE}|{_PRODUCT}|{_SIGN})[)]?[,.;:?]?")


def clean(text: str, *, limit: int = MAX_NAME) -> str:
    """Return `text` on one line, without invisible characters, at most `limit` characters long."""
    line = " ".join(_visible(text[: 16 * limit]).split())
    if len(line) > limit or len(text) > 16 * limit:
        line = line[: limit - 1].rstrip() + ELLIPSIS
    return line or EMPTY


def visible(text: str) -> str:
    """Return our own lines, with their spaces, without terminal control sequences."""
    return "\n".join(_visible(line) for line in text.split("\n"))


def cell(text: str) -> str:
    """Return `text` as a CSV cell that no spreadsheet reads as a formula.

    Numbers, including signed ones, stay numbers; "-2+3" is a formula.
    """
    content = _visible(text).strip()
    is_formula = content[:1] in _FORMULAS and _NUMBER.fullmatch(content) is None
    return f"'{content}" if is_formula else content


def exact_cell(text: str) -> str:
    """Return `text` as a CSV cell that is not a formula, and that can be read back exactly.

    A leading apostrophe marks an escaped text.
    """
    return f"'{text}" if text.startswith(_EXACT_FORMULAS) else text


def code(text: str, *, limit: int = MAX_NAME, in_table: bool = True) -> str:
    """Return `text` as one Markdown code span that is safe everywhere, including in table cells.

    The fence is longer than any run of backticks inside, so nothing can close it. A pipe is escaped
    because GitHub splits a row into cells before it looks for code; outside of tables the escape
    would be visible: pass `in_table=False` there.
    """
    line = clean(text, limit=limit)
    fence = "`" * (_longest_backticks(line) + 1)
    pad = " " if line.startswith("`") or line.endswith("`") else ""
    content = line.replace("|", "\\|") if in_table else line
    return fence + pad + content + pad + fence


def wrapping_code(text: str, *, limit: int = MAX_NAME) -> str:
    """Return a workload's name as code for a table cell that may wrap between its parts.

    This applies to names of plain words, in which nothing has a meaning in Markdown; any other is
    `code`. GitHub allows both HTML elements.
    """
    if len(text) > limit or not _WORKLOAD.fullmatch(text) or "www." in text.lower():
        return code(text, limit=limit)
    return f"<code>{_BREAK.sub('<wbr>', text)}</code>"


def prose(
    text: str, *, names: Sequence[str] = (), limit: int = MAX_PROSE, in_table: bool = True
) -> str:
    """Return our sentence with everything but plain words and figures in code spans.

    Adjacent words share a span. `names` are untrusted texts that the sentence may quote; each gets
    its own span, and so does what the sentence has between backticks.
    """
    line = clean(text, limit=limit)
    cleaned = {clean(name, limit=limit) for name in names if name}
    parts = _around_quotes(line, cleaned)
    return "".join(
        _quoted_span(part, is_name=part in cleaned, limit=limit, in_table=in_table)
        if index % 2
        else _with_spaces(part, is_start=index == 0, in_table=in_table)
        for index, part in enumerate(parts)
    )


def sentence(
    text: str, *, names: Sequence[str] = (), limit: int = MAX_PROSE, in_table: bool = True
) -> str:
    """Return prose with an initial capital and a final full stop."""
    stopped = _with_full_stop(clean(text, limit=limit))
    statement = prose(stopped, names=names, limit=limit + 1, in_table=in_table)
    return statement[:1].upper() + statement[1:]


def clean_sentence(text: str, *, limit: int = MAX_PROSE) -> str:
    """Return clean text with a final full stop, and an initial capital if it starts with a word.

    A name stays unchanged: `Benchmarks.gpt:step` would name no workload.
    """
    statement = _with_full_stop(clean(text, limit=limit))
    is_word = _PLAIN_WORD.fullmatch(statement.partition(" ")[0]) is not None
    return statement[:1].upper() + statement[1:] if is_word else statement


def html_sentence(
    text: str, *, names: Sequence[str] = (), typed: Sequence[str] = (), limit: int = MAX_PROSE
) -> Markup:
    """Return `clean_sentence` as HTML, with what stands between backticks as code.

    So are the `names` that it quotes, and `typed`: commands and settings, which pages offer to
    copy.
    """
    line = clean_sentence(text, limit=limit)
    commands = {clean(one, limit=limit) for one in typed if one}
    cleaned = commands | {clean(one, limit=limit) for one in names if one}
    return Markup("").join(
        _html_code(part, is_typed=part in commands)
        if index % 2 and part in cleaned
        else _html_quotes(part)
        for index, part in enumerate(_around_quotes(line, cleaned))
    )


def fence(
    text: str, *, language: str = "text", max_characters: int = 1000, max_lines: int = 20
) -> str:
    """Return the end of a text as a fenced block that the text cannot close.

    Keeps the last `max_lines` lines, and of these the last `max_characters` characters.
    """
    content = readable_lines(text, max_characters=max_characters, max_lines=max_lines)
    mark = "`" * max(3, _longest_backticks(content) + 1)
    return f"{mark}{language}\n{content}\n{mark}"


def link(url: str) -> str:
    """Return a link's target, "" if anything in it could end the link."""
    return url if _LINK.fullmatch(url) else ""


def path(text: str) -> str:
    """Return `owner/name` as part of a path on this site, whatever it contains."""
    return "/".join(
        quote(part, safe="", errors="replace") for part in text.split("/") if part.strip(".")
    )


def query_value(text: str) -> str:
    """Return a text as a value in a link's query string, whatever it contains."""
    return quote(text, safe="", errors="replace")


def readable_lines(text: str, *, max_characters: int, max_lines: int) -> str:
    """Return the last lines of a log, without control sequences or markup."""
    lines = text[-4 * max_characters :].splitlines()[-max_lines:]
    end = "\n".join(_visible(line).rstrip() for line in lines)[-max_characters:]
    return end.strip("\n") or EMPTY


def _around_quotes(line: str, names: Collection[str]) -> list[str]:
    """Return the text before, in, between and after quotes, of which every second is a quote.

    Quotes are `names`, the longest first, and what stands between backticks, with any name in it.
    Whole words only: two adjacent code spans would become one.
    """
    quotes = sorted((name for name in names if name in line), key=len, reverse=True)
    alternatives = "|".join((*map(re.escape, quotes), _QUOTED))
    return re.split(rf"(?<!\S)({alternatives})(?=[,.;:]*(?:\s|$))", line)


def _html_quotes(text: str) -> Markup:
    """Return a text as HTML, with what stands between backticks as code."""
    parts = _QUOTED_IN_HTML.split(text)
    return Markup("").join(
        _html_code(part, is_typed=False) if index % 2 else part for index, part in enumerate(parts)
    )


def _html_code(text: str, *, is_typed: bool) -> Markup:
    if is_typed:
        return Markup('<code class="typed">{}</code>').format(text)
    return Markup("<code>{}</code>").format(text)


def _with_full_stop(text: str) -> str:
    return text if text.endswith((".", "!", "?", ELLIPSIS)) else f"{text}."


def _visible(text: str) -> str:
    if text.isprintable():
        return text
    return "".join(map(_visible_character, text))


def _visible_character(character: str) -> str:
    if character in "\t\n\r\v\f":
        return " "
    category = unicodedata.category(character)
    if category in _INVISIBLE:
        return ""
    return UNKNOWN_CHARACTER if category in _UNKNOWN else character


def _longest_backticks(text: str) -> int:
    runs = (len(list(run)) for first, run in groupby(text) if first == "`")
    return max(runs, default=0)


def _is_plain(word: str) -> bool:
    return _PLAIN_WORD.fullmatch(word) is not None


def _quoted_span(text: str, *, is_name: bool, limit: int, in_table: bool) -> str:
    """Return a name, or what stands between backticks, with the brackets around them outside."""
    if is_name:
        return code(text, limit=limit, in_table=in_table)
    before, quoted, after = text.split("`")
    return before + code(quoted, limit=limit, in_table=in_table) + after


def _with_spaces(text: str, *, is_start: bool, in_table: bool) -> str:
    """Return the text before, between or after names, keeping its outer spaces and punctuation."""
    rest = text if is_start else text.lstrip(",.;: ")
    inner = rest.strip(" ")
    before, after = text[: len(text) - len(rest.lstrip(" "))], rest[len(rest.rstrip(" ")) :]
    if not inner:
        return text
    return before + _escaped_words(inner, is_start=is_start, in_table=in_table) + after


def _escaped_words(text: str, *, is_start: bool, in_table: bool) -> str:
    words = text.split(" ")
    parts: list[str] = []
    if is_start and _LIST_MARKER.fullmatch(words[0]):
        parts.append(code(words.pop(0)))
    for is_plain, run in groupby(words, key=_is_plain):
        joined = " ".join(run)
        parts.append(joined if is_plain else _code_span(joined, in_table=in_table))
    return " ".join(parts)


def _code_span(words: str, *, in_table: bool) -> str:
    # The sentence's own punctuation and brackets stay outside the span.
    body = words.rstrip(",.;:")
    if not body.strip("() "):
        return code(words)
    before, inner, after = _split_brackets(body)
    span = code(inner, limit=len(inner), in_table=in_table)
    return before + span + after + words[len(body) :]


def _split_brackets(text: str) -> tuple[str, str, str]:
    """Split off the sentence's brackets around a text; "(anonymous)::f" and "f(x)" keep theirs."""
    opening = text.rstrip(")")
    unopened = max(0, text.count(")") - text.count("("))
    closing = ")" * min(unopened, len(text) - len(opening))  # brackets that an earlier word opened
    inner = text.removesuffix(closing)
    if not inner.startswith("("):
        return "", inner, closing
    depths = accumulate((character == "(") - (character == ")") for character in inner)
    closed = next((index for index, depth in enumerate(depths) if depth == 0), None)
    if closed is None:  # a later word of the sentence closes it
        return "(", inner[1:], closing
    if closed == len(inner) - 1:
        return "(", inner[1:-1], ")" + closing
    return "", inner, closing
