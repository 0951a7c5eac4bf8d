"""Replays a job log under scheduling policies."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from perfledger_cost_models.scheduling.policy import (
    Backfill,
    DeviceSharing,
    Locality,
    PlacementPolicy,
    Preemption,
)
from perfledger_service.cli.command import command
from perfledger_service.cli.file_or_store import Source, log_of
from perfledger_service.cli.option_groups import how, what
from perfledger_service.cli.output import ChartOutput
from perfledger_service.cli.plan.job_log_flags import JobLog, JobLogFormat
from perfledger_service.cli.price_flags import PriceFlags
from perfledger_service.errors import UsageError

if TYPE_CHECKING:  # these would make every help slow
    from perfledger_cost_models.scheduling.reservations import Reservation
    from perfledger_service.usecases.plan.simulate import ClusterNodes, SimulationSettings

# What most clusters use, and the three that the literature compares it with.
DEFAULT_POLICIES = ("fifo", "easy", "srtf", "fair")
_RESERVATION_PARTS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterFlags:
    """The cluster that the jobs run on."""

    nodes: Annotated[
        int | None,
        what("number of identical nodes", metavar="COUNT", default="as recorded in the log"),
    ] = None
    devices_per_node: Annotated[int, what("devices of each node", metavar="COUNT")] = 8
    cluster: Annotated[
        Path | None,
        what("CSV of nodes instead: gpu, cpu_milli, memory_mib, model, pool", metavar="FILE"),
    ] = None

    @property
    def hardware(self) -> "ClusterNodes":
        """Return the cluster."""
        from perfledger_service.usecases.plan.simulate import ClusterNodes

        return ClusterNodes(file=self.cluster, nodes=self.nodes, devices=self.devices_per_node)


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyFlags:
    """The decisions of the scheduler."""

    policy: Annotated[
        list[str] | None,
        how(
            "a policy; the first is the reference; repeatable",
            metavar="POLICY",
            default="fifo, easy, srtf, fair",
        ),
    ] = None
    placement: Annotated[
        PlacementPolicy | None,
        how(
            "best-fit (default), first-fit, worst-fit, random, packing, clustering, "
            "dot-product or fgd",
            metavar="POLICY",
        ),
    ] = None
    locality: Annotated[Locality, how("nodes that a job may be spread over")] = Locality.FEWEST
    sharing: Annotated[DeviceSharing, how("how parts of a device are allocated")] = (
        DeviceSharing.EXACT
    )
    backfill: Annotated[Backfill | None, how("backfill policy", default="the policy's own")] = None
    preemption: Annotated[
        Preemption | None, how("what happens to preempted jobs", default="the policy's own")
    ] = None
    quantum_seconds: Annotated[
        int | None, how("quantum of time-slice", metavar="SECONDS", default="360")
    ] = None
    checkpoint_seconds: Annotated[
        int | None,
        how(
            "time to save and load a preempted job",
            metavar="SECONDS",
            default="7 to 60, by devices",
        ),
    ] = None
    reservation: Annotated[
        list[str] | None,
        how("TEAM:NODES:FROM:TO in hours from the first job; repeatable", metavar="RESERVATION"),
    ] = None

    @property
    def setting(self) -> "SimulationSettings":
        """Return the settings that all policies share; raises UsageError."""
        from perfledger_service.usecases.plan.simulate import SimulationSettings

        return SimulationSettings(
            placement=self.placement,
            locality=self.locality,
            sharing=self.sharing,
            reservations=tuple(map(_reservation, self.reservation or ())),
            seed=0,
            quantum_s=self.quantum_seconds,
            checkpoint_s=self.checkpoint_seconds,
            backfill=self.backfill,
            preemption=self.preemption,
        )


@command(
    examples=(
        "perfledger plan simulate jobs.csv --nodes 2 --devices-per-node 8",
        "perfledger plan simulate jobs.csv --policy fifo --policy fair --json",
        "perfledger plan simulate jobs.csv --cluster nodes.csv --format svg --output waits.svg",
    )
)
def simulate(
    log: JobLog = None,
    *,
    source: Source = None,
    log_format: JobLogFormat = None,
    cluster: ClusterFlags,
    policies: PolicyFlags,
    purchase_option: Annotated[
        str | None,
        how(
            "purchase option that prices a device-hour, such as p5.48xlarge/on_demand",
            metavar="OPTION",
        ),
    ] = None,
    price_flags: PriceFlags,
    output: ChartOutput,
) -> None:
    """Replay a job log under scheduling policies, and show the gain of another policy."""
    from perfledger_service.rendering.plan.simulate import policies_document
    from perfledger_service.rendering.plan.wait_plot import policies_svg
    from perfledger_service.usecases.plan.simulate import compare_policies

    output.write_document(
        compare_policies(
            log_of(log, source),
            cluster.hardware,
            policies.policy or DEFAULT_POLICIES,
            policies.setting,
            format_=log_format,
            rate=price_flags.rate_of(purchase_option),
        ),
        policies_document,
        svg=policies_svg,
    )


def _reservation(text: str) -> "Reservation":
    from perfledger_cost_models.job_logs.table import JobLogError
    from perfledger_cost_models.scheduling.reservations import Reservation
    from perfledger_cost_models.units import MS_PER_HOUR

    parts = text.rsplit(":", _RESERVATION_PARTS - 1)
    try:
        team, nodes, start, end = parts
        return Reservation(
            team=team,
            nodes=int(nodes),
            start_ms=round(float(start) * MS_PER_HOUR),
            end_ms=round(float(end) * MS_PER_HOUR),
        )
    except JobLogError as error:
        raise UsageError(str(error)) from error
    except (ValueError, OverflowError) as error:
        msg = f"--reservation is TEAM:NODES:FROM:TO, such as vision:2:24:48, not {text[:80]!r}"
        raise UsageError(msg) from error
