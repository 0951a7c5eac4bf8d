"""Numbers are rounded for people in one module, in renderings and in messages."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from string import Formatter

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("service", "runners", "baselines", "cost_models")
TEMPLATES = ROOT / "templates" / "perfledger_templates"
ROUNDING = ROOT / "runners" / "perfledger" / "rounding.py"
RENDERING = "service/perfledger_service/rendering"
COST_MODELS = "cost_models/perfledger_cost_models"
EXCEPTIONS = {
    # Coordinates and opacities of a picture: nobody reads them.
    f"{RENDERING}/chart/elements.py",
    f"{RENDERING}/chart/mark_shapes.py",
    f"{RENDERING}/chart/svg.py",
    # JSON, CSV and FOCUS hold all digits of a decimal, without separators.
    f"{RENDERING}/layout/writers.py",
    f"{RENDERING}/fleet/allocation_focus.py",
    # Cells of tables and price sheets that are read again, and amounts of JSON.
    f"{COST_MODELS}/job_logs/kube_state_metrics.py",
    f"{COST_MODELS}/job_logs/kubernetes.py",
    f"{COST_MODELS}/prices/sheet_writer.py",
    f"{COST_MODELS}/money.py",
}
ADVICE = "use perfledger/rounding.py or layout/number_format.py"
# What rounds or chooses an exponent; "," of a whole number and a width do neither.
_ROUNDS = re.compile(r"[eEfFgGn%]$|\.\d*$")
_DATE = re.compile(r"%[-a-zA-Z]")
_OLD_STYLE = re.compile(r"%[-+ 0#]*\d*(\.\d+)?[eEfFgG]")
_IN_TEMPLATE = re.compile(r'"%\.|\|\s*round\b|:[^}"]*\.\d*[efg]\}')


def rounding_specs(source: str) -> Iterator[tuple[int, str]]:
    """Yield the line and text of each format that rounds."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.FormattedValue(conversion=-1, format_spec=ast.JoinedStr(values=parts)):
                texts = (part.value if isinstance(part, ast.Constant) else "0" for part in parts)
                spec = "".join(map(str, texts))
            case ast.Call(func=ast.Name(id="format"), args=[_, ast.Constant(value=str(spec))]):
                pass
            case ast.BinOp(left=ast.Constant(value=str(text)), op=ast.Mod()):
                spec = "f" if _OLD_STYLE.search(text) else ""
            case ast.Constant(value=str(text)):
                yield from ((node.lineno, each) for each in specs_of(text) if rounds(each))
                continue
            case _:
                continue
        if rounds(spec):
            yield node.lineno, spec


def rounds(spec: str) -> bool:
    return _ROUNDS.search(spec) is not None and _DATE.search(spec) is None


def specs_of(text: str) -> Iterator[str]:
    """Yield the formats of a text for `str.format`."""
    try:
        for _, _, spec, _ in Formatter().parse(text):
            yield spec or ""
    except ValueError:  # text with a brace that is not for `str.format`
        return


@pytest.mark.parametrize(
    ("source", "spec"),
    [
        ('f"{value:.3g}"', ".3g"),
        ('f"{value:+,.1f} %"', "+,.1f"),
        ('f"{value:z,.{places}f}"', "z,.0f"),
        ('f"{value:g}"', "g"),
        ('f"{value:,.4}"', ",.4"),
        ('f"{share:.0%}"', ".0%"),
        ('"{:.2f}".format', ".2f"),
        ('format(value, ".2e")', ".2e"),
        ('"%.1f s" % value', "f"),
    ],
)
def test_a_format_that_rounds_is_found(source, spec):
    assert spec in [found_spec for _, found_spec in rounding_specs(source)]


@pytest.mark.parametrize(
    "source",
    [
        'f"{count:,}"',
        'f"{count:,d}"',
        'f"{day:%Y-%m-%d}"',
        'f"{name:>9}"',
        'f"{name!r:.80}"',
        '"{}".format',
        '"a {"',
    ],
)
def test_a_format_that_does_not_round_is_allowed(source):
    assert list(rounding_specs(source)) == []


def test_numbers_are_rounded_in_one_module():
    modules = {path for package in PACKAGES for path in (ROOT / package).rglob("*.py")}
    exceptions = {ROUNDING, *(ROOT / name for name in EXCEPTIONS)}

    texts = [
        f"{path.relative_to(ROOT)}:{line}: {spec}"
        for path in sorted(modules - exceptions)
        for line, spec in rounding_specs(path.read_text(encoding="utf-8"))
    ]

    assert texts == [], ADVICE


@pytest.mark.parametrize("name", sorted(EXCEPTIONS))
def test_every_exception_formats_numbers(name):
    assert list(rounding_specs((ROOT / name).read_text(encoding="utf-8")))


def test_templates_round_only_the_sizes_of_shapes():
    lines = (
        line for path in TEMPLATES.rglob("*.j2") for line in path.read_text("utf-8").splitlines()
    )

    found_lines = [line for line in lines if _IN_TEMPLATE.search(line) and "<rect" not in line]

    assert not found_lines
