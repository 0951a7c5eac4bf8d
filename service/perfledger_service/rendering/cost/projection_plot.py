"""Draws projected speeds as bars with their intervals."""

from perfledger_cost_models.projection.projection import MissingProjection, Projection
from perfledger_service.rendering.chart.axis import Tick, linear_axis, rows_axis
from perfledger_service.rendering.chart.marks import BarMark, LineMark, Mark, RuleMark, Tone
from perfledger_service.rendering.chart.picture import Chart, Picture
from perfledger_service.rendering.chart.svg import picture_svg
from perfledger_service.rendering.cost.project import projection_title, speed_interval
from perfledger_service.rendering.layout.number_format import speed
from perfledger_service.values.projection_views import ProjectionView


def projection_svg(view: ProjectionView) -> str:
    """Return the projected speeds as a standalone SVG document."""
    unknown = [row.device for row in view.rows if isinstance(row.projection, MissingProjection)]
    summary = "Projected by roofline, not measured; lines are 90 % intervals"
    if unknown:
        summary += f"; unknown: {', '.join(unknown)}"
    return picture_svg(
        Picture(title=projection_title(view), summary=summary, charts=(speed_chart(view),))
    )


def speed_chart(view: ProjectionView) -> Chart:
    """Return the chart with a row for each device that has a projection."""
    rows = [
        (row.device, row.projection) for row in view.rows if isinstance(row.projection, Projection)
    ]
    most = max([1.0, *(projection.high for _, projection in rows)])
    marks: list[Mark] = []
    for number, (_, projection) in enumerate(rows):
        middle = number + 0.5
        interval = ((projection.low, middle), (projection.high, middle))
        marks += [
            BarMark(x=(0.0, projection.speed), y=(number + 0.2, number + 0.8), opacity=0.4),
            LineMark(points=interval, tone=Tone.INK),
        ]
    return Chart(
        x=linear_axis(0.0, most, title=f"times as fast as {view.source}"),
        y=rows_axis([_tick(device, projection) for device, projection in rows]),
        marks=(*marks, RuleMark(x=1.0, is_dashed=True)),
    )


def _tick(device: str, projection: Projection) -> Tick:
    return Tick(
        label=device,
        figure=f"{speed(projection.speed)} ({speed_interval(projection)})",
    )
