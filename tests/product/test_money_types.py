"""Amounts of US dollars have the type of money: writers know it by nothing else."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = ("cost_models/perfledger_cost_models", "service/perfledger_service/values")
# Operands of formulas and limits, which no document holds.
OPERANDS = {
    "tco/buy_vs_rent.py": {"OptionCost"},
    "tco/onprem.py": {"HourlyCost", "YearlyCost"},
    "energy/hourly_csv.py": {"HourlySeries"},
    "forecasting/past_periods.py": {"UsageHistory", "CostSpan"},
    "procurement/commitment_sweep.py": {"_LadderCosts"},
    "jobs/policies.py": {"JobBudget"},  # limits as they are stored; the rendering types them
}


def amounts_without_a_type(source: str) -> Iterator[tuple[str, str]]:
    """Yield the class and name of each field or property of USD that is a plain float."""
    for owner in ast.walk(ast.parse(source)):
        if not isinstance(owner, ast.ClassDef):
            continue
        for member in owner.body:
            match member:
                case ast.AnnAssign(target=ast.Name(id=name), annotation=annotation):
                    pass
                case ast.FunctionDef(name=name, returns=ast.expr() as annotation):
                    pass
                case _:
                    continue
            if "usd" in name.split("_") and re.search(r"\bfloat\b", ast.unparse(annotation)):
                yield owner.name, name


def test_a_field_or_property_of_usd_that_is_a_plain_float_is_found():
    source = (
        "class A:\n  usd: float\n  low_usd: Usd\n  def usd_per_hour(self) -> float | None: ...\n"
    )

    assert list(amounts_without_a_type(source)) == [("A", "usd"), ("A", "usd_per_hour")]


def test_amounts_of_usd_have_the_type_of_money():
    plain_lines = {
        (str(path.relative_to(ROOT / package)), owner, name)
        for package in PACKAGES
        for path in (ROOT / package).rglob("*.py")
        for owner, name in amounts_without_a_type(path.read_text(encoding="utf-8"))
    }

    assert {each for each in plain_lines if each[1] not in OPERANDS.get(each[0], ())} == set()
    operands = {(module, owner) for module, owners in OPERANDS.items() for owner in owners}
    assert operands <= {(module, owner) for module, owner, _ in plain_lines}
