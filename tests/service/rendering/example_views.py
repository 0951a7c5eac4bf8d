"""Example bundles and series, as the store returns them."""

from datetime import UTC, datetime, timedelta

from perfledger.bundle import Bundle
from perfledger.metrics import WorseDirection
from perfledger.records import Run, Side
from perfledger_service.values.upload_views import SeriesPoint, SeriesView

NOON = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
# How far each pair's head is from the estimate, in turn: pairs that lie around it.
WOBBLE = (0.004, -0.006, 0.002, -0.001, 0.005, -0.004)


def bundle_of(report, profiles=()) -> Bundle:
    """Return a bundle whose pairs lie around the report's estimates, with these profiles."""
    runs: list[Run] = []
    for spec in report.workloads:
        verdicts = [v for v in report.verdicts if v.workload == spec.id and v.estimate is not None]
        for pair, wobble in enumerate(WOBBLE if verdicts else ()):
            for side in Side:
                factor = 1 + (wobble if side is Side.HEAD else 0.0)
                runs.append(
                    Run(
                        workload=spec.id,
                        side=side,
                        pair=pair,
                        position=side is Side.HEAD,
                        process=len(runs),
                        started_at="2026-11-20T12:00:00+00:00",
                        samples={
                            v.metric.name: (getattr(v.estimate, side) * factor,) for v in verdicts
                        },
                    )
                )
    return Bundle(
        id=report.bundle_id,
        created_at=report.created_at,
        base=report.base,
        host_findings=report.host_findings,
        head=report.head,
        machine=report.machine,
        plan=report.plan,
        workloads=report.workloads,
        metrics=tuple({v.metric.name: v.metric for v in report.verdicts}.values()),
        runs=tuple(runs),
        failures=report.failures,
        profiles=profiles,
        logs={"0": "epoch 1\nloss 0.3\n", "1": "<b>loud</b>\n"},
    )


def stepped_series(make) -> SeriesView:
    """Return a series that steps up, with a head of a pull request beside every third base."""
    points: list[SeriesPoint] = []
    for pos in range(12):
        base = 0.0123 if pos < 7 else 0.0141
        sides = [(Side.BASE, base)] + [(Side.HEAD, base * 1.08)] * (pos % 3 == 2)
        points.extend(
            SeriesPoint(
                position=pos,
                sha=f"{pos + 1:x}{side.value[0]}{'0' * 38}",
                side=side,
                pull_request=None if side is Side.BASE else 40 + pos,
                upload_id=f"{pos:032x}",
                processes=6,
                center=center,
                low=center * 0.99,
                high=center * 1.012,
                created_at=NOON + timedelta(hours=pos),
                distance=1 if side is Side.BASE else None,
            )
            for side, center in sides
        )
    return SeriesView(
        id=1,
        repository="acme/models",
        workload=make.GPT,
        metric="step_time_p50",
        unit="s",
        worse=WorseDirection.HIGHER,
        machine_class=make.H100.machine_class,
        points=tuple(points),
    )
