"""Plans the queue of a job log: recorded waits, replayed waits, and the devices that suffice."""

from dataclasses import dataclass

from perfledger_cost_models.capacity.best_fit import best_fit, candidates, fitted_policy
from perfledger_cost_models.capacity.devices_needed import DevicesNeeded, devices_needed
from perfledger_cost_models.capacity.node_shape import (
    NodeShape,
    node_shape,
    peak_devices,
    recorded_devices,
    uncounted_reason,
    widest_job,
)
from perfledger_cost_models.capacity.wait_summary import (
    WaitSummary,
    recorded_summary,
    replayed_summary,
)
from perfledger_cost_models.job_logs.csv_rows import DeviceUse, lacks_device_time
from perfledger_cost_models.job_logs.gaps import LogGap
from perfledger_cost_models.job_logs.table import JobLogError, JobTable
from perfledger_cost_models.queueing.arrival_statistics import arrivals_of, formula_obstacle
from perfledger_cost_models.queueing.server_count import QueuePlan, WaitTarget, queue_plan
from perfledger_cost_models.scheduling.calibration import ReplayCalibration, calibration_of
from perfledger_cost_models.scheduling.device_time_accounting import NO_SAMPLES
from perfledger_cost_models.scheduling.policy import SchedulingPolicy
from perfledger_cost_models.scheduling.simulation import simulate
from perfledger_cost_models.units import MS_PER_DAY


@dataclass(frozen=True, slots=True, kw_only=True)
class LogQueuePlan:
    """The waits of a log as recorded and as replayed, and the devices that meet a target."""

    log: str
    jobs: int
    days: float
    widest: int  # devices of the widest job
    left_out: tuple[tuple[str, int], ...]
    cut_jobs: int  # whose wait is unknown because the log may cut their run
    gaps: tuple[LogGap, ...]
    devices: int
    are_devices_given: bool
    peak_devices: int | None  # the most in use at one moment of the log; None without starts
    stated_devices: int | None  # of the recorded cluster, by the log's header
    per_node: int | None  # None if nodes do not count
    policy: SchedulingPolicy
    is_policy_fitted: bool
    recorded_devices: int  # the denominator of the record's share in use
    recorded: WaitSummary | None
    replayed: WaitSummary
    calibration: ReplayCalibration | None
    target: WaitTarget | None
    needed: DevicesNeeded | None
    # What the replay needs where the record, on as many, missed the target: no answer then.
    needed_in_replay: DevicesNeeded | None
    replayed_on_needed: WaitSummary | None
    formula: QueuePlan | None
    formula_obstacle: str  # why no formula holds; "" if one does

    @property
    def lacks_device_time(self) -> bool:
        """Return whether jobs that no figure includes held devices."""
        return lacks_device_time(self.left_out) or bool(self.gaps)

    @property
    def device_use(self) -> DeviceUse:
        """Return how far the shares of devices in use can be relied on."""
        if not lacks_device_time(self.left_out):  # gaps hide hours, but hardly the devices
            return DeviceUse.LOWER_BOUND if self.gaps else DeviceUse.COMPLETE
        return DeviceUse.LOWER_BOUND if self.are_devices_given else DeviceUse.UNKNOWN


def log_queue_plan(
    jobs: JobTable,
    *,
    log: str,
    left_out: tuple[tuple[str, int], ...] = (),
    devices: int | None,
    per_node: int | None,
    policy: SchedulingPolicy | None,
    target: WaitTarget | None,
    stated_devices: int | None = None,
    gaps: tuple[LogGap, ...] = (),
) -> LogQueuePlan:
    """Return a log's waits on some devices, and the devices that meet a target.

    Devices and policy default to those whose replay is nearest to the recorded waits. Raises
    JobLogError if a log without recorded waits needs devices, and if no job fits them.
    """
    shape = node_shape(jobs, devices=devices, per_node=per_node)
    nodes, chosen, is_fitted = _nodes_and_policy(
        jobs, shape, devices, policy, stated_devices=stated_devices
    )
    cluster = shape.cluster(nodes)
    outcome = simulate(jobs, cluster, chosen, samples=NO_SAMPLES)
    recorded = recorded_devices(jobs, stated=stated_devices, replayed=cluster.total_devices)
    needed = None if target is None else devices_needed(jobs, shape, chosen, target)
    obstacle = formula_obstacle(jobs)
    waits = recorded_summary(jobs, target, devices=recorded)
    calibration = calibration_of(outcome)
    is_refuted = _is_refuted(needed, waits, calibration, target, recorded)
    answer = None if is_refuted else needed
    return LogQueuePlan(
        log=log,
        jobs=len(outcome.jobs) + outcome.unplaceable,
        days=outcome.until_ms / MS_PER_DAY,
        widest=widest_job(jobs),
        left_out=left_out,
        cut_jobs=jobs.cut_jobs,
        gaps=gaps,
        devices=cluster.total_devices,
        are_devices_given=devices is not None,
        peak_devices=peak_devices(jobs),
        stated_devices=stated_devices,
        per_node=shape.devices,
        policy=chosen,
        is_policy_fitted=is_fitted and policy is None,
        recorded_devices=recorded,
        recorded=waits,
        replayed=replayed_summary(outcome, target),
        calibration=calibration,
        target=target,
        needed=answer,
        needed_in_replay=needed if is_refuted else None,
        replayed_on_needed=_on_needed(jobs, shape, chosen, target, answer),
        formula=None
        if obstacle
        else queue_plan(arrivals_of(jobs), devices=cluster.total_devices, target=target),
        formula_obstacle=obstacle,
    )


def _nodes_and_policy(
    jobs: JobTable,
    shape: NodeShape,
    devices: int | None,
    policy: SchedulingPolicy | None,
    *,
    stated_devices: int | None,
) -> tuple[int, SchedulingPolicy, bool]:
    """Return the nodes and the policy, given or fitted to the record, and whether any is fitted."""
    policies = candidates(jobs) if policy is None else (policy,)
    if devices is None:
        fit = best_fit(jobs, shape, policies, stated_devices=stated_devices)
        if fit is not None:
            return fit.nodes, fit.policy, True
        peak = peak_devices(jobs)
        if peak is None:
            msg = f"{uncounted_reason(jobs)}: give --devices"
            raise JobLogError(msg)
        return shape.fewest(peak), policies[0], False
    if devices < 1 or devices % shape.step:
        msg = f"{devices} devices are not whole nodes of {shape.step}: use a multiple of it"
        raise JobLogError(msg)
    nodes = devices // shape.step
    fitted = fitted_policy(jobs, shape.cluster(nodes), policies) if policy is None else None
    return nodes, fitted or policies[0], fitted is not None


def _is_refuted(
    needed: DevicesNeeded | None,
    recorded: WaitSummary | None,
    calibration: ReplayCalibration | None,
    target: WaitTarget | None,
    recorded_devices: int,
) -> bool:
    """Return whether the record, on at least the devices needed, missed the target.

    A calibrated replay may differ from the record by as much as that.
    """
    if needed is None or needed.devices is None or target is None:
        return False
    if recorded is None or recorded.met_share is None:
        return False
    if calibration is None or calibration.is_calibrated:
        return False
    return needed.devices <= recorded_devices and recorded.met_share.middle < target.share


def _on_needed(
    jobs: JobTable,
    shape: NodeShape,
    policy: SchedulingPolicy,
    target: WaitTarget | None,
    needed: DevicesNeeded | None,
) -> WaitSummary | None:
    if needed is None or needed.devices is None:
        return None
    cluster = shape.cluster(needed.devices // shape.step)
    return replayed_summary(simulate(jobs, cluster, policy, samples=NO_SAMPLES), target)
