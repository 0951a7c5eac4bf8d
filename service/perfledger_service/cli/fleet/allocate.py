"""Allocates a bill to teams and projects."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from perfledger_service.cli.command import command
from perfledger_service.cli.file_or_store import PeriodFlags, Source, files_of
from perfledger_service.cli.option_groups import argument, how, out, what
from perfledger_service.cli.option_values import refuse_unused, usd
from perfledger_service.cli.output import ChartOutput, Format, write_text
from perfledger_service.cli.price_flags import PriceFlags

if TYPE_CHECKING:  # these would make every help slow
    from perfledger_cost_models.billing.allocated_hours import DayRange
    from perfledger_service.usecases.fleet.allocate import PaidCosts, UsageSources

NO_OVERHEAD = "0"


@dataclass(frozen=True, slots=True, kw_only=True)
class PaymentFlags:
    """The payment to allocate."""

    bill: Annotated[
        Path | None, what("the bill in FOCUS 1.0 to 1.4, CSV or Parquet", metavar="FILE")
    ] = None
    team_tag: Annotated[
        str, what("the bill's tag that names the team, without usage files", metavar="TAG")
    ] = ""
    amount_usd: Annotated[str | None, what("USD paid, instead of a bill", metavar="USD")] = None
    devices: Annotated[
        int | None, what("all devices that the amount paid for", metavar="COUNT")
    ] = None
    overhead_usd: Annotated[str, what("further USD, shared by use", metavar="USD")] = NO_OVERHEAD

    @property
    def flags(self) -> dict[str, bool]:
        """Return the flags of the payment that are given, for `refuse_unused`."""
        return {
            "--bill": self.bill is not None,
            "--team-tag": bool(self.team_tag),
            "--amount-usd": self.amount_usd is not None,
            "--devices": self.devices is not None,
            "--overhead-usd": self.overhead_usd != NO_OVERHEAD,
        }

    def paid(self, prices: PriceFlags) -> "PaidCosts":
        """Return the payment, with the prices to compare a bill with; raises UsageError."""
        from perfledger_service.usecases.fleet.allocate import PaidCosts
        from perfledger_service.usecases.inputs.price_books import exchange_rates_of

        return PaidCosts(
            bill=self.bill,
            team_tag=self.team_tag,
            amount=None if self.amount_usd is None else usd(self.amount_usd, "--amount-usd"),
            devices=self.devices,
            overhead=usd(self.overhead_usd, "--overhead-usd"),
            sheet=prices.sheet_before_tax,
            exchange_rates=exchange_rates_of(prices.settings),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelFlags:
    """The labels that name the owner of a job."""

    team_label: Annotated[
        str,
        how("the label that names a job's team", metavar="LABEL", default="the first one known"),
    ] = ""
    project_label: Annotated[str, how("the label that names its project", metavar="LABEL")] = ""

    @property
    def flags(self) -> dict[str, bool]:
        """Return the flags of the labels that are given, for `refuse_unused`."""
        return {
            "--team-label": bool(self.team_label),
            "--project-label": bool(self.project_label),
        }


@command(
    examples=(
        "perfledger fleet allocate usage.csv --bill bill.csv --project-label label_project",
        (
            "perfledger fleet allocate usage.csv --amount-usd 250000 --devices 128 "
            "--save-focus focus.csv"
        ),
        "perfledger fleet allocate usage.csv --format svg --output hours.svg",
    )
)
def allocate(
    usage: Annotated[
        list[Path] | None,
        argument("usage by job: sacct, Prometheus, Kubernetes, FOCUS bills in CSV", metavar="FILE"),
    ] = None,
    *,
    source: Source = None,
    payment: PaymentFlags,
    period: PeriodFlags,
    labels: LabelFlags,
    price_flags: PriceFlags,
    quotas: Annotated[
        Path | None,
        how("CSV of team[,project],hours: idle devices are paid by quota", metavar="FILE"),
    ] = None,
    output: ChartOutput,
    save_focus: Annotated[
        Path | None, out("also write the rows in FOCUS 1.2 to this file", metavar="FILE")
    ] = None,
) -> None:
    """Allocate a bill to teams and projects: used, idle and shared cost.

    Rows sum to the bill to the cent. Use without a known owner gets a separate row. --format svg
    draws a heat map of hours by team and week. A bill's prices are compared with the agreed ones
    of --overrides and --contract. Costs in another currency are converted by --exchange-rates, at
    the rate of each charge's day.
    """
    from perfledger_service.rendering.fleet.allocate import allocation_document
    from perfledger_service.rendering.fleet.allocation_focus import allocation_focus
    from perfledger_service.rendering.fleet.heat_map import heat_svg
    from perfledger_service.usecases.fleet.allocate import allocate_cost, hours_by_team

    has_usage = bool(usage) or source is not None
    if payment.bill is None:
        reason = "a bill's prices are compared with these: give --bill, or leave them out"
        refuse_unused(price_flags.flags, reason)
    if output.chosen is Format.SVG:
        cost_options = {"--quotas": quotas is not None, "--save-focus": save_focus is not None}
        reason = "the heat map shows hours, not cost: leave these out, or choose another --format"
        refuse_unused(payment.flags | cost_options, reason)
    if has_usage:
        reason = "with usage files, labels name the teams: leave this out, or leave out the files"
        refuse_unused({"--team-tag": bool(payment.team_tag)}, reason)
    else:
        reason = "labels are those of usage files: give a file, or leave these out"
        refuse_unused(labels.flags, reason)
    sources = _sources(usage or (), source, labels)
    days = _days(period)
    if output.chosen is Format.SVG:
        output.write(hours_by_team(sources, days=days), {Format.SVG: heat_svg})
        return
    allocation = allocate_cost(payment.paid(price_flags), sources, days=days, entitlement=quotas)
    if save_focus is not None:
        write_text(allocation_focus(allocation), save_focus)
    output.write_document(allocation, allocation_document)


def _sources(usage: Sequence[Path], source: str | None, labels: LabelFlags) -> "UsageSources":
    """Return the usage; without files, the bill is shared among its own teams."""
    from perfledger_service.usecases.fleet.allocate import UsageSources
    from perfledger_service.values.fleet_views import ImportKind

    has_usage = bool(usage) or source is not None
    files = files_of(usage, source, ImportKind.USAGE) if has_usage else ()
    return UsageSources(files=files, team=labels.team_label, project=labels.project_label)


def _days(flags: PeriodFlags) -> "DayRange | None":
    from perfledger_cost_models.billing.allocated_hours import DayRange

    period = flags.period
    return None if period is None else DayRange(period.start.date(), period.end.date())
