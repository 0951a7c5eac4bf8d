"""Projects a workload onto hardware that it was not measured on."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from perfledger_service.cli.command import command
from perfledger_service.cli.option_groups import argument, how, what
from perfledger_service.cli.option_values import today
from perfledger_service.cli.output import ChartOutput
from perfledger_service.errors import UsageError

if TYPE_CHECKING:  # this would make every help slow
    from perfledger_service.usecases.cost.projection import ProjectionSource


@dataclass(frozen=True, slots=True, kw_only=True)
class SubjectFlags:
    """The options that complete a workload from a file."""

    workload: Annotated[str, what("which workload, if there are several", metavar="NAME")] = ""
    source_accelerator: Annotated[
        str, what("the accelerator that it runs on; a bundle contains it", metavar="NAME")
    ] = ""
    units_per_second: Annotated[
        float | None,
        what("speed of one source device; a bundle already contains it", metavar="RATE"),
    ] = None
    dtype: Annotated[
        str | None, how("data type of a bundle's workload", metavar="TYPE", default="bfloat16")
    ] = None

    def of(self, file: str) -> "ProjectionSource":
        """Return the workload of a bundle, a TOML file or a benchmark; raises UsageError."""
        from perfledger_service.usecases.cost.project import (
            declared_subject,
            is_declared,
            measured_subject,
        )
        from perfledger_service.usecases.cost.work_rates import PEAK_DTYPE

        if not is_declared(file):
            if self.source_accelerator or self.units_per_second is not None:
                msg = (
                    f"{file} already has a device and a speed: leave out --source-accelerator and "
                    "--units-per-second"
                )
                raise UsageError(msg)
            return measured_subject(Path(file), name=self.workload, dtype=self.dtype or PEAK_DTYPE)
        if self.dtype is not None:
            msg = "--dtype is for bundles: a declared workload has its own"
            raise UsageError(msg)
        return declared_subject(
            file,
            name=self.workload,
            source=self.source_accelerator,
            units_per_second=self.units_per_second,
        )


@command(
    examples=(
        "perfledger cost project bundle.json --target-accelerator H100-80GB",
        (
            "perfledger cost project training/bert --source-accelerator A100-80GB "
            "--units-per-second 1200 --json"
        ),
    )
)
def project(
    workload_source: Annotated[
        str,
        argument(
            "a bundle, TOML of declared workloads, or a benchmark: training/bert", metavar="FILE"
        ),
    ],
    *,
    subject: SubjectFlags,
    target_accelerator: Annotated[
        list[str] | None,
        what("A100-80GB, h100-sxm5-80gb, TPU-v4, ...; repeatable", metavar="NAME"),
    ] = None,
    power_limit: Annotated[
        float | None, what("power limit of the targets", metavar="WATTS", default="their own")
    ] = None,
    output: ChartOutput,
) -> None:
    """Estimate a workload's speed and cost on hardware that it was not measured on.

    The estimate is a roofline projection with an interval from published results, never a
    measurement.
    """
    from perfledger_service.rendering.cost.project import projection_document
    from perfledger_service.rendering.cost.projection_plot import projection_svg
    from perfledger_service.usecases.cost.projection import project_costs

    output.write_document(
        project_costs(
            subject.of(workload_source),
            targets=target_accelerator or (),
            today=today(),
            power_limit_w=power_limit,
        ),
        projection_document,
        svg=projection_svg,
    )
