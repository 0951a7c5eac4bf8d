"""Makes a command with grouped options and examples from a function."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import MISSING, dataclass, fields, is_dataclass
from inspect import Parameter, Signature, cleandoc, signature
from typing import Annotated, Any, Literal, Protocol, cast, get_args, get_type_hints

import typer
from typer.core import TyperArgument, TyperCommand
from typer.main import get_command

from perfledger_service.cli.option_groups import OptionGroup
from perfledger_service.cli.output import Format, Formats
from perfledger_service.errors import UsageError

HELP_NAMES = {"help_option_names": ["--help", "-h"]}
# A line of an example: 80 columns, minus its indent and the backslash that continues it.
_EXAMPLE_WIDTH = 74
_INDENT = "  "


@dataclass(frozen=True, slots=True)
class HelpCommand:
    """Function whose signature gives typer the options, with examples of its use."""

    function: Callable[..., None]
    examples: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """Return the sentence that describes the command."""
        return unwrap_paragraphs(self.function.__doc__ or "").partition("\n")[0]


class HelpFormatter(Protocol):
    """The part of the writer of help texts, passed by typer, that is used."""

    def write(self, string: str) -> None:
        """Write text as it is."""
        ...

    def write_text(self, text: str) -> None:
        """Write wrapped paragraphs."""
        ...

    def write_dl(self, rows: Sequence[tuple[str, str]]) -> None:
        """Write names with their meanings."""
        ...

    def section(self, name: str) -> AbstractContextManager[None]:
        """Write a heading and indent what follows."""
        ...


class GroupedCommand(TyperCommand):
    """A command whose help text has a sentence, grouped options and examples."""

    examples: tuple[str, ...] = ()

    def collect_usage_pieces(self, ctx: object) -> list[str]:  # noqa: ARG002 - typer's signature
        """Return the parts of the usage line; optional ones are in brackets."""
        arguments = [each for each in self.params if isinstance(each, TyperArgument)]
        names = [(_argument_name(each), each.required) for each in arguments]
        return ["[OPTIONS]", *(name if required else f"[{name}]" for name, required in names)]

    def rows(self, context: typer.Context) -> dict[OptionGroup, list[tuple[str, str]]]:
        """Return the arguments and options with their meanings, by group."""
        rows: dict[OptionGroup, list[tuple[str, str]]] = {group: [] for group in OptionGroup}
        for param in self.get_params(context):
            name, meaning = param.get_help_record(context) or ("", "")
            if isinstance(param, TyperArgument):
                name = _argument_name(param)
            group = getattr(param, "rich_help_panel", None) or OptionGroup.OUTPUT
            rows[OptionGroup(group)].append((_without_list(name), _plain_words(meaning)))
        return rows

    def invoke(self, ctx: object) -> object:
        """Run the command; raises UsageError for --json beside a --format that it would replace."""
        context = cast("typer.Context", ctx)
        other_formats = [name for name in self._given_formats(context) if name != Format.JSON]
        if other_formats and context.params.get("json"):
            msg = (
                "--json is short for --format json: leave out --json or "
                f"--format {other_formats[0]}"
            )
            raise UsageError(msg)
        return super().invoke(context)

    def format_help(self, ctx: object, formatter: HelpFormatter) -> None:
        """Write the help text."""
        context = cast("typer.Context", ctx)
        write_beginning(self.help or "", self.get_usage(context), formatter)
        for group, records in self.rows(context).items():
            if records:
                with formatter.section(group):
                    formatter.write_dl(records)
        write_examples(self.examples, formatter)

    def _given_formats(self, context: typer.Context) -> tuple[str, ...]:
        """Return the values of --format on the command line."""
        for param in self.params:
            source = context.get_parameter_source(param.name or "")
            if "--format" in param.opts and source is not None and source.name == "COMMANDLINE":
                value = context.params[param.name or ""]
                return tuple(map(str, value if getattr(param, "multiple", False) else (value,)))
        return ()


def command(*, examples: tuple[str, ...]) -> Callable[[Callable[..., None]], HelpCommand]:
    """Return a decorator that makes a command from a function.

    A parameter whose type is a dataclass becomes one option per field, and the function receives
    the dataclass.
    """

    def decorated(function: Callable[..., None]) -> HelpCommand:
        return HelpCommand(_with_single_options(function), examples)

    return decorated


def typer_command(name: str, command: HelpCommand) -> GroupedCommand:
    """Return the typer command."""
    app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    app.command(name, cls=GroupedCommand, context_settings=HELP_NAMES)(command.function)
    built = cast("GroupedCommand", get_command(app))
    built.examples = command.examples
    return built


def write_beginning(help_text: str, usage: str, formatter: HelpFormatter) -> None:
    """Write the description and the usage line of a command or group."""
    formatter.write_text(unwrap_paragraphs(help_text))
    formatter.write(f"\n{usage}\n")


def unwrap_paragraphs(text: str) -> str:
    """Return a docstring with one line per paragraph."""
    paragraphs = cleandoc(text).split("\n\n")
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)


def write_examples(examples: Iterable[str], formatter: HelpFormatter) -> None:
    """Write examples as shell commands, on several lines if one is too long."""
    with formatter.section("Examples"):
        for example in examples:
            formatter.write(_INDENT + f" \\\n{_INDENT * 2}".join(_lines(example)) + "\n")


def _lines(example: str) -> list[str]:
    """Return the lines of an example; no line begins with an option's value."""
    lines: list[str] = []
    for part in re.split(r" (?=--|perfledger )", example):
        if lines and len(lines[-1]) + len(part) < _EXAMPLE_WIDTH:
            lines[-1] += f" {part}"
        else:
            lines.append(part)
    return lines


def _argument_name(argument: TyperArgument) -> str:
    return f"{argument.metavar}..." if argument.nargs == -1 else str(argument.metavar)


def _without_list(name: str) -> str:
    """Return an option's name with its choices; typer calls a repeatable one a list of them."""
    return re.sub(r"<list\[(.*)\]>", r"<\1>", name)


def _plain_words(meaning: str) -> str:
    """Return the meaning of an option in words.

    Typer puts defaults that are words in parentheses. The limits that it appends, such as "x>=0",
    are left out: its message for a value beyond them states them.
    """
    meaning = re.sub(r"\[default: \((.*)\)", r"[default: \1", meaning)
    return re.sub(r"  \[x>=[\d.]+\]$|; x>=[\d.]+(?=\]$)", "", meaning)


def _with_single_options(function: Callable[..., None]) -> Callable[..., None]:
    """Return the function with an option for each field of its option dataclasses.

    Typer reads only a function's signature, so this sets the signature that it reads.
    """
    hints = get_type_hints(function, include_extras=True)
    option_sets: dict[str, type] = {}
    single: list[Parameter] = []
    for name, parameter in signature(function).parameters.items():
        option_set, formats = _option_set(hints[name])
        if option_set is None:
            single.append(parameter.replace(annotation=hints[name]))
        else:
            option_sets[name] = option_set
            single += _options(option_set, formats)

    def called(**values: object) -> None:
        for name, option_set in option_sets.items():
            option_values = {field.name: values.pop(field.name) for field in fields(option_set)}
            values[name] = option_set(**option_values)
        function(**values)

    called.__name__, called.__doc__ = function.__name__, function.__doc__
    called.__annotations__ = {each.name: each.annotation for each in single}
    vars(called)["__signature__"] = Signature(single)
    return called


def _option_set(hint: object) -> tuple[type | None, tuple[str, ...]]:
    """Return the dataclass of a parameter, None for a single option, and its formats."""
    kind, *extras = get_args(hint) if hasattr(hint, "__metadata__") else (hint,)
    if not (isinstance(kind, type) and is_dataclass(kind)):
        return None, ()
    return kind, next((each.formats for each in extras if isinstance(each, Formats)), ())


def _options(option_set: type, formats: tuple[str, ...]) -> Iterator[Parameter]:
    hints: dict[str, Any] = get_type_hints(option_set, include_extras=True)
    for field in fields(option_set):
        annotation = hints[field.name]
        default = Parameter.empty if field.default is MISSING else field.default
        if formats and field.name == "format":
            annotation = Annotated[Literal[formats], *annotation.__metadata__]
            default = formats[0]
        yield Parameter(field.name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
