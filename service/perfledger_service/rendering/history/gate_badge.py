"""Renders a project's badge: one line of text in a small picture."""

from perfledger_service.rendering.layout.environment import render
from perfledger_service.rendering.layout.number_format import quantity
from perfledger_service.values.branch_views import GateBadge, GateState

LABEL = "perfledger"
# The colours of outcomes on the pages; white text has a contrast of at least 4.5 on each.
_COLOURS = {
    GateState.PASSING: "#1b7a43",
    GateState.REGRESSED: "#b3261e",
    GateState.FAILING: "#b3261e",
    GateState.NOT_MEASURED: "#6a3fa0",
    GateState.UNDECIDED: "#8a6100",
    GateState.UNKNOWN: "#5b6169",
}
_STALE_COLOUR = "#5b6169"
_CHARACTER_WIDTH = 6.6  # of a character of an 11-pixel sans-serif font; browsers fit the text to it
_EDGE = 8  # left and right of the text


def badge_svg(badge: GateBadge) -> str:
    """Return the badge, with a title for screen readers."""
    message = badge_text(badge)
    return render(
        "badge.svg.j2",
        label=LABEL,
        message=message,
        title=f"{LABEL}, {badge.repository}: {message}{_date(badge)}",
        label_width=_text_width(LABEL),
        message_width=_text_width(message),
        edge=_EDGE,
        colour=_STALE_COLOUR if badge.is_stale else _COLOURS[badge.state],
    )


def badge_text(badge: GateBadge) -> str:
    """Return the words of the badge; its colour adds no information."""
    text = badge.state.value
    if badge.open_regressions:
        text = quantity(badge.open_regressions, "open regression")
    if badge.is_stale and badge.measured_at is not None:
        return f"stale: {text} on {badge.measured_at:%Y-%m-%d}"
    return text


def _date(badge: GateBadge) -> str:
    if badge.measured_at is None or badge.is_stale:
        return ""
    return f", measured on {badge.measured_at:%Y-%m-%d}"


def _text_width(text: str) -> int:
    return round(len(text) * _CHARACTER_WIDTH)
