"""Expands the `params` of an asv benchmark into points with texts for ids."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TypeGuard, cast

from perfledger.records import Param
from perfledger.registration.argument_faults import FORBIDDEN_IN_TEXT, MAX_TEXT_LENGTH

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")  # it differs between processes
_REPLACEMENT = "_"


@dataclass(frozen=True, slots=True)
class ParameterPoint:
    """One value for each parameter, with the text that represents it in an id."""

    values: tuple[object, ...]
    params: Mapping[str, Param]

    @property
    def text(self) -> str:
        """Return the values as they stand in an id."""
        return ",".join(f"{name}={value}" for name, value in self.params.items())


def parameter_points(params: object, names: Sequence[object]) -> Iterator[ParameterPoint]:
    """Yield the points of the grid; one point without parameters if there are none.

    As in asv, a plain list holds the values of one parameter, and unnamed parameters are param1,
    param2. Values can be any object; one that is neither a number nor a short text is named by its
    repr.
    """
    grid = _grid(params)
    texts = [str(name) for name in names][: len(grid)]
    texts += [f"param{number}" for number in range(len(texts) + 1, len(grid) + 1)]
    named = [_named_values(values) for values in grid]
    for point in product(*named):
        yield ParameterPoint(
            values=tuple(value for value, _ in point),
            params={_clean(name): text for name, (_, text) in zip(texts, point, strict=True)},
        )


def _grid(params: object) -> list[list[object]]:
    values = list(cast("Sequence[object]", params))
    if not values:
        return []
    if isinstance(values[0], list | tuple):
        return [list(cast("Sequence[object]", each)) for each in values]
    return [values]


def _named_values(values: Sequence[object]) -> list[tuple[object, Param]]:
    """Return each value with the text that represents it; equal texts are numbered."""
    named: list[tuple[object, Param]] = []
    used: dict[str, int] = {}
    for value in values:
        text = value if _is_plain(value) else _clean(_text(value))
        count = used[str(text)] = used.get(str(text), 0) + 1
        named.append((value, text if count == 1 else f"{text}~{count}"))
    return named


def _is_plain(value: object) -> TypeGuard[Param]:
    return isinstance(value, bool | int) or (isinstance(value, float) and math.isfinite(value))


def _text(value: object) -> str:
    return value if isinstance(value, str) else repr(value)


def _clean(text: str) -> str:
    """Return a text that can be part of an id."""
    letters = (
        letter if letter.isprintable() and letter not in FORBIDDEN_IN_TEXT else _REPLACEMENT
        for letter in _ADDRESS.sub("", text)
    )
    return "".join(letters)[:MAX_TEXT_LENGTH] or _REPLACEMENT
