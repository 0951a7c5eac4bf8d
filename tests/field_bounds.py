"""The bounds and defaults of what files and messages may contain, a line for each field."""

import importlib
import os
import pkgutil
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import msgspec
from msgspec import inspect

UPDATE = "PERFLEDGER_UPDATE_GOLDEN"
KINDS = (
    inspect.IntType,
    inspect.FloatType,
    inspect.StrType,
    inspect.ListType,
    inspect.DictType,
    inspect.VarTupleType,
    inspect.LiteralType,
)


def assert_bounds_are_known(package: ModuleType, path: Path) -> None:
    """Compare the bounds of a package's messages with those that a file has written out."""
    text = "".join(f"{line}\n" for line in bounds_of(package))
    if os.environ.get(UPDATE) == "1":
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8"), f"run again with {UPDATE}=1 if intended"


def bounds_of(package: ModuleType) -> Iterator[str]:
    """Yield each field with a bound or a number as default, by module and message."""
    for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        module = importlib.import_module(info.name)
        for name, each in sorted(vars(module).items()):
            if not (isinstance(each, type) and issubclass(each, msgspec.Struct)):
                continue
            if each.__module__ == module.__name__:
                yield from fields_of(each, f"{info.name.partition('.')[2]}.{name}")


def fields_of(message: type[msgspec.Struct], name: str) -> Iterator[str]:
    """Yield the fields of a message."""
    found = inspect.type_info(message)
    assert isinstance(found, inspect.StructType)
    for field in found.fields:
        words = list(words_of(field.type))
        if isinstance(field.default, int | float) and not isinstance(field.default, bool):
            words.append(f"default {field.default}")
        if words:
            yield f"{name}.{field.name}: {', '.join(words)}"


def words_of(kind: inspect.Type) -> Iterator[str]:
    """Yield the bounds of a type and of what it contains; those of messages stand with them."""
    if isinstance(kind, KINDS):
        for key, value in msgspec.structs.asdict(kind).items():
            if isinstance(value, inspect.Type):
                yield from words_of(value)
            elif isinstance(value, int | float | tuple):
                yield f"{key} {value}"
    elif isinstance(kind, inspect.UnionType | inspect.TupleType):
        parts = kind.types if isinstance(kind, inspect.UnionType) else kind.item_types
        for part in parts:
            yield from words_of(part)
