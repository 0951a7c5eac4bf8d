"""Computes which changes can be detected."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from perfledger_service.cli.command import command
from perfledger_service.cli.option_groups import argument, how, what
from perfledger_service.cli.option_values import refuse_unused
from perfledger_service.cli.output import DocumentOutput
from perfledger_service.errors import UsageError

if TYPE_CHECKING:  # this would make every help slow
    from perfledger_service.usecases.bench.power import PowerRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerFlags:
    """The tests whose power is computed."""

    pairs: Annotated[int | None, how("only for this number of pairs", metavar="COUNT")] = None
    change_percent: Annotated[float | None, how("only for this change", metavar="PERCENT")] = None
    tests: Annotated[int, how("number of tests that share alpha", metavar="COUNT")] = 1
    alpha: Annotated[
        float, how("chance of any false regression among all tests", metavar="CHANCE")
    ] = 0.05

    @property
    def request(self) -> "PowerRequest":
        """Return the request; raises UsageError."""
        from perfledger_service.usecases.bench.power import CHANGES, COUNTS, PowerRequest

        return PowerRequest(
            counts=COUNTS if self.pairs is None else (self.pairs,),
            changes=CHANGES if self.change_percent is None else (self.change_percent / 100,),
            tests=self.tests,
            alpha=self.alpha,
        )


@command(
    examples=(
        "perfledger bench power bundle.json",
        "perfledger bench power --spread-percent 0.8 --change-percent 1",
        "perfledger bench power runs.csv --column seconds --json",
    )
)
def power(
    file: Annotated[
        Path | None, argument("a bundle, or CSV or JSON with one value per run", metavar="FILE")
    ] = None,
    *,
    column: Annotated[str | None, what("the column of values", metavar="NAME")] = None,
    spread_percent: Annotated[
        float | None,
        what("standard deviation of pair differences, instead of a file", metavar="PERCENT"),
    ] = None,
    power_flags: PowerFlags,
    output: DocumentOutput,
) -> None:
    """Show the smallest change that a number of pairs can detect, and the pairs a change needs."""
    from perfledger_service.rendering.bench.power import power_document
    from perfledger_service.usecases.bench.power import power_of_file, power_of_spread

    if (file is None) is (spread_percent is None):
        msg = "give a FILE to estimate the spread from, or --spread-percent"
        raise UsageError(msg)
    if file is not None:
        curve = power_of_file(file, power_flags.request, column=column)
    else:
        refuse_unused(
            {"--column": column is not None}, "only a FILE has columns: give it, or leave this out"
        )
        curve = power_of_spread((spread_percent or 0.0) / 100, power_flags.request)
    output.write_document(curve, power_document)
