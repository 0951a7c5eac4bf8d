"""Compares the cost of hours and work between owning and every purchase option."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from perfledger.time_units import SECONDS_PER_HOUR
from perfledger_cost_models.tco.restart_time import RESTART_SECONDS
from perfledger_service.cli.command import command
from perfledger_service.cli.option_groups import how, what
from perfledger_service.cli.output import ChartOutput
from perfledger_service.cli.ownership_flags import GridFlags, HorizonFlags, OwnershipFlags
from perfledger_service.cli.price_flags import PriceFlags
from perfledger_service.errors import UsageError

if TYPE_CHECKING:  # these would make every help slow
    from perfledger_cost_models.tco.spot_interruption import InterruptionModel
    from perfledger_service.usecases.cost.work_hours import WorkSpeeds

DEFAULT_ACCELERATOR = "H100-80GB"
ALL = "all"


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkFlags:
    """The work to price, by its speed."""

    throughput: Annotated[
        list[str] | None,
        what("units per second: 8xH100-80GB=3100, or low:mid:high; repeatable", metavar="RATE"),
    ] = None
    unit: Annotated[str, what("what --throughput counts: tokens, samples", metavar="NAME")] = (
        "units"
    )
    step_seconds: Annotated[
        list[str] | None, what("seconds per step: 8xH100-80GB=0.31; repeatable", metavar="TIME")
    ] = None
    queries_per_second: Annotated[
        list[str] | None, what("inferences per second: H100-80GB=42; repeatable", metavar="RATE")
    ] = None
    time_to_train: Annotated[
        list[str] | None,
        what("8xH100-80GB=5.3m, or an MLPerf log instead of the time; repeatable", metavar="TIME"),
    ] = None
    training_overhead: Annotated[
        str,
        how("whole run as a multiple of the time to train, such as 1.05:1.2:1.5", metavar="FACTOR"),
    ] = "1"
    bundle: Annotated[
        Path | None, what("a result bundle with measured throughput", metavar="BUNDLE")
    ] = None
    workload: Annotated[str, what("which workload of the bundle", metavar="GLOB")] = "*"

    @property
    def speeds(self) -> "WorkSpeeds":
        """Return the speeds of the work by device."""
        from perfledger_service.usecases.cost.work_hours import WorkSpeeds

        return WorkSpeeds(
            units=self.throughput or (),
            unit=self.unit,
            steps=self.step_seconds or (),
            queries=self.queries_per_second or (),
            trainings=self.time_to_train or (),
            overhead=self.training_overhead,
            bundle=self.bundle,
            workload=self.workload,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SpotFlags:
    """The time that a spot job loses to interruptions."""

    interruptions_per_hour: Annotated[
        float | None, how("interruptions of a spot job; needs --checkpoint-seconds", metavar="RATE")
    ] = None
    checkpoint_seconds: Annotated[
        float | None, how("time to save a checkpoint", metavar="SECONDS")
    ] = None
    restart_seconds: Annotated[
        float, how("time until an interrupted job resumes", metavar="SECONDS")
    ] = RESTART_SECONDS
    fallback_percent: Annotated[
        float, how("share of spot work that runs on demand instead", metavar="PERCENT")
    ] = 0.0

    @property
    def interruptions(self) -> "InterruptionModel | None":
        """Return the interruptions, None without such options; raises UsageError."""
        from perfledger_cost_models.tco.spot_interruption import InterruptionModel
        from perfledger_service.usecases.inputs.error_translation import translate_errors

        per_hour, save = self.interruptions_per_hour, self.checkpoint_seconds
        is_about_spot = self.restart_seconds != RESTART_SECONDS or self.fallback_percent != 0
        if per_hour is None and save is None and not is_about_spot:
            return None
        if per_hour is None or save is None:
            msg = (
                "the cost of interrupted spot work needs both --interruptions-per-hour and "
                "--checkpoint-seconds; --restart-seconds and --fallback-percent refine it"
            )
            raise UsageError(msg)
        with translate_errors():
            return InterruptionModel(
                per_hour=per_hour,
                save_h=save / SECONDS_PER_HOUR,
                restart_h=self.restart_seconds / SECONDS_PER_HOUR,
            )


@command(
    examples=(
        "perfledger cost compare --at on-prem,p4d,p5,tpu-v4 --allocated-percent 60",
        (
            "perfledger cost compare --unit tokens --throughput 8xH100-80GB=3100 "
            "--throughput 8xA100-80GB=1400"
        ),
        "perfledger cost compare --bundle bundle.json --format svg --output compare.svg",
    )
)
def compare(
    *,
    accelerator: Annotated[
        list[str] | None,
        what(
            'accelerator as on the price sheet, or "all"; repeatable',
            metavar="NAME",
            default="H100-80GB",
        ),
    ] = None,
    at: Annotated[
        str | None,
        what(
            "comma-separated: on-prem, a machine (p5, tpu-v4), a provider, an option",
            metavar="NAMES",
            default="everywhere",
        ),
    ] = None,
    every_option: Annotated[
        bool, what("show every option, not the cheapest of each purchase mode", flag="--all")
    ] = False,
    work: WorkFlags,
    job_hours: Annotated[
        float | None, how("length of a job, for capacity blocks", metavar="HOURS")
    ] = None,
    spot: SpotFlags,
    ownership: OwnershipFlags,
    horizon: HorizonFlags,
    grid: GridFlags,
    price_flags: PriceFlags,
    output: ChartOutput,
) -> None:
    """Find the purchase option that costs least per useful hour or unit of work.

    With speeds of several accelerators, finds the cheapest option per unit of work.
    """
    from perfledger_service.rendering.cost.compare import costs_document
    from perfledger_service.rendering.cost.plots import costs_svg
    from perfledger_service.usecases.cost.compare import FAMILIES, compare_costs
    from perfledger_service.usecases.cost.option_names import accelerators_named, split_names
    from perfledger_service.usecases.cost.work_hours import priced_works

    books = price_flags.books
    works = priced_works(work.speeds)
    option_names = split_names(at or "")
    names = accelerator or [work.accelerator for work in works]
    names = names or list(accelerators_named(books.sheet, books.servers, option_names))
    names = names or [DEFAULT_ACCELERATOR]
    request = ownership.request(books)
    request = replace(
        request,
        terms=replace(request.terms, years=horizon.horizon),
        grid=grid.grid,
        accelerators=FAMILIES if ALL in names else tuple(dict.fromkeys(names)),
        option_names=option_names,
        shows_all=every_option,
        interruptions=spot.interruptions,
        fallback_share=spot.fallback_percent / 100,
        job_h=job_hours,
        works=works,
    )
    output.write_document(compare_costs(books, request), costs_document, svg=costs_svg)
