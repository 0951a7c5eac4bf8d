"""The bounds of what files and messages may contain, and the numbers that stand for what is not
said: a line for each field and parameter.
"""

import importlib
import os
import pkgutil
import types
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from decimal import Decimal
from inspect import signature, unwrap
from pathlib import Path
from types import ModuleType

import msgspec
from annotated_types import BaseMetadata
from msgspec import inspect
from pydantic import BaseModel

UPDATE = "PERFLEDGER_UPDATE_GOLDEN"
NEED_TORCH = "torch_canaries"  # which some Pythons lack
MIGRATIONS = ".migrations."  # which only alembic imports
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
    """Compare the bounds and defaults of a package with those that a file has written out."""
    text = "".join(f"{line}\n" for line in bounds_of(package))
    if os.environ.get(UPDATE) == "1":
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8"), f"run again with {UPDATE}=1 if intended"


def bounds_of(package: ModuleType) -> Iterator[str]:
    """Yield each field and parameter with a bound or a number as default, by module."""
    for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        if info.name.endswith((NEED_TORCH, "__main__")) or MIGRATIONS in info.name:
            continue
        module = importlib.import_module(info.name)
        for name, each in sorted(vars(module).items()):
            if getattr(each, "__module__", None) == module.__name__:
                yield from lines_of(each, f"{info.name.partition('.')[2]}.{name}")


def lines_of(each: object, name: str) -> Iterator[str]:
    """Yield the lines of a function, or of a class with those of its methods."""
    for key, words in parts_of(each):
        if words:
            yield f"{name}.{key}: {', '.join(words)}"
    if isinstance(each, type):
        for method, function in methods_of(each):
            yield from lines_of(function, f"{name}.{method}")


def methods_of(owner: type) -> Iterator[tuple[str, object]]:
    """Yield the methods that a class itself defines, without those that its fields make."""
    is_made_of_fields = is_dataclass(owner) or issubclass(owner, (msgspec.Struct, BaseModel))
    for name, each in vars(owner).items():
        is_made = is_made_of_fields and name.startswith("__")
        if isinstance(each, types.FunctionType | staticmethod | classmethod) and not is_made:
            yield name, each


def parts_of(each: object) -> Iterator[tuple[str, list[str]]]:
    """Yield the name of each field or parameter, with its bounds and default."""
    function = unwrap(each) if callable(each) else each
    if isinstance(function, types.FunctionType):
        for key, parameter in signature(function).parameters.items():
            yield key, [*default_of(parameter.default)]
    elif isinstance(each, type) and issubclass(each, msgspec.Struct):
        type_info = inspect.type_info(each)
        assert isinstance(type_info, inspect.StructType)
        for field in type_info.fields:
            yield field.name, [*words_of(field.type), *default_of(field.default)]
    elif isinstance(each, type) and issubclass(each, BaseModel):
        yield from parts_of_model(each)
    elif isinstance(each, type) and is_dataclass(each):
        for data_field in fields(each):
            yield data_field.name, [*default_of(data_field.default)]


def parts_of_model(model: type[BaseModel]) -> Iterator[tuple[str, list[str]]]:
    """Yield the name of each field of a model, with its bounds and default."""
    for key, field in model.model_fields.items():
        bounds = [one for one in field.metadata if isinstance(one, BaseMetadata)]
        yield key, [*map(repr, bounds), *default_of(field.default)]


def default_of(value: object) -> Iterator[str]:
    """Yield what stands for a number that is not given."""
    if isinstance(value, int | float | Decimal) and not isinstance(value, bool):
        yield f"default {value}"


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
