"""Prices a change."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from perfledger.rounding import for_programs, typed
from perfledger_service.cli.command import command
from perfledger_service.cli.option_groups import argument, what
from perfledger_service.cli.option_values import refuse_unused, today
from perfledger_service.cli.output import ChartOutput
from perfledger_service.cli.price_flags import PriceFlags
from perfledger_service.errors import UsageError

if TYPE_CHECKING:  # these would make every help slow
    from perfledger.bundle import FleetUse, PricingConfig
    from perfledger_cost_models.prices.price_sheet import PriceSheet
    from perfledger_service.values.change_price import ChangePriceView

ANY_WORKLOAD = "*"
RATIO_WORKLOAD = "workload"  # the name of a ratio's workload, unless it is given


@dataclass(frozen=True, slots=True, kw_only=True)
class PricedChangeFlags:
    """A change that is priced without a bundle."""

    ratio: Annotated[
        float | None, what("step time of head / base, instead of a bundle", metavar="RATIO")
    ] = None
    interval: Annotated[
        tuple[float, float] | None, what("the ratio's 95 % interval", metavar="LOW HIGH")
    ] = None
    workload: Annotated[
        str, what("workload of the ratio, to find its fleet entries", metavar="NAME")
    ] = RATIO_WORKLOAD
    measured_on: Annotated[
        str,
        what(
            "accelerator of the ratio, such as A100-80GB",
            metavar="NAME",
            default="that of each fleet entry",
        ),
    ] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetFlags:
    """The fleet to price the change on."""

    config: Annotated[
        Path | None,
        what(
            "TOML with fleet, commitment and policy tables",
            metavar="FILE",
            default="the repository's",
        ),
    ] = None
    device_hours: Annotated[
        float | None, what("device-hours a year, instead of a fleet", metavar="HOURS")
    ] = None
    device_hours_range: Annotated[
        tuple[float, float] | None, what("likely range of the hours", metavar="LOW HIGH")
    ] = None
    purchase_option: Annotated[
        str, what("purchase option of these hours, such as p5.48xlarge/on_demand", metavar="OPTION")
    ] = ""

    @property
    def entry(self) -> "FleetUse | None":
        """Return the fleet entry of the options, None without such options; raises UsageError."""
        from perfledger.bundle import FleetUse
        from perfledger_cost_models.change_price.price import MAX_DEVICE_HOURS
        from perfledger_service.usecases.cost.work_hours import COMMAND_LINE_SOURCE

        hours, hours_range, option = (
            self.device_hours,
            self.device_hours_range,
            self.purchase_option,
        )
        if hours is None and hours_range is None and not option:
            return None
        if hours is None or not option:
            msg = (
                "give --device-hours and --purchase-option together, such as --device-hours 20000 "
                "--purchase-option p5.48xlarge/on_demand"
            )
            raise UsageError(msg)
        low, high = hours_range or (hours, hours)
        if not 0 <= low <= hours <= high <= MAX_DEVICE_HOURS:
            msg = (
                f"{for_programs(hours)} hours a year, {for_programs(low)} to {for_programs(high)}: "
                f"give 0 <= low <= hours <= high, at most {typed(MAX_DEVICE_HOURS)}"
            )
            raise UsageError(msg)
        return FleetUse(
            workload=ANY_WORKLOAD,
            where=option,
            device_hours_per_year=hours,
            low=low,
            high=high,
            source=COMMAND_LINE_SOURCE,
        )


@command(
    examples=(
        "perfledger cost change bundle.json",
        (
            "perfledger cost change --ratio 1.12 --interval 1.10 1.14 --device-hours 20000 "
            "--purchase-option p5.48xlarge/on_demand"
        ),
        "perfledger cost change bundle.json --config fleet.toml --json",
    )
)
def change(
    bundle: Annotated[Path | None, argument("a result bundle", metavar="BUNDLE")] = None,
    *,
    change_flags: PricedChangeFlags,
    fleet: FleetFlags,
    price_flags: PriceFlags,
    output: ChartOutput,
) -> None:
    """Estimate the yearly cost of a change, from a bundle or from a ratio with its interval.

    Exits with 1 if the limit of a policy is exceeded, with 3 if a policy asks for approval or there
    is no price.
    """
    from perfledger_service.rendering.cost.change import change_document
    from perfledger_service.rendering.cost.change_plot import change_svg
    from perfledger_service.usecases.cost.change import CheckConclusion, conclude_check
    from perfledger_service.values.report import Conclusion, ExitCode

    view = _price(bundle, change_flags, fleet, price_flags.books.sheet)
    output.write_document(view, change_document, svg=change_svg)
    total = view.prices.total
    is_priced = total is not None and total.usd is not None
    code = ExitCode.OK if is_priced else ExitCode.UNCERTAIN
    raise typer.Exit(
        conclude_check(
            CheckConclusion(Conclusion.SUCCESS, code, ""), view.policy_evaluations
        ).exit_code
    )


def _price(
    bundle: Path | None, flags: PricedChangeFlags, fleet: FleetFlags, sheet: "PriceSheet"
) -> "ChangePriceView":
    from perfledger_service.usecases.cost.change import price_bundle, price_ratio
    from perfledger_service.usecases.fleet.hours import pricing_at
    from perfledger_service.usecases.inputs.bundle_files import read_bundle_file

    ratio, interval = flags.ratio, flags.interval
    if bundle is not None and ratio is None:
        options = {
            "--interval": interval is not None,
            "--workload": flags.workload != RATIO_WORKLOAD,
            "--measured-on": bool(flags.measured_on),
        }
        refuse_unused(options, "a bundle has its own changes: leave these out")
        read = read_bundle_file(bundle)
        pricing = _on(
            fleet.entry, read.pricing if fleet.config is None else pricing_at(fleet.config)
        )
        return price_bundle(read, pricing=pricing, today=today(), sheet=sheet)
    if bundle is None and ratio is not None and interval is not None:
        ratios = (interval[0], ratio, interval[1])
        pricing = _on(fleet.entry, pricing_at(fleet.config))
        return price_ratio(
            flags.workload,
            ratios,
            pricing=pricing,
            today=today(),
            sheet=sheet,
            is_whole_entry=fleet.entry is not None or flags.workload == RATIO_WORKLOAD,
            measured_on=flags.measured_on,
        )
    msg = "give a bundle, or --ratio with --interval: a change is not priced without its interval"
    raise UsageError(msg)


def _on(entry: "FleetUse | None", pricing: "PricingConfig") -> "PricingConfig":
    """Return the pricing with the fleet entry of the command line."""
    return pricing if entry is None else replace(pricing, fleet=(entry,))
