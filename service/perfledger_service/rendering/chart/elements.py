"""Writes elements of SVG; the only module where their texts are cleaned and escaped."""

from collections.abc import Mapping
from html import escape

from perfledger_service.rendering.chart.marks import Anchor
from perfledger_service.rendering.layout.escape import clean

_MAX_TEXT = 400

Attributes = Mapping[str, object]  # text, or a number in units of the picture


def element(name: str, attributes: Attributes, *, title: str = "") -> str:
    """Return an element without content, except for a title that is shown on hover."""
    written = " ".join(f'{key}="{_value(value)}"' for key, value in attributes.items())
    if not title:
        return f"<{name} {written}/>"
    return f"<{name} {written}><title>{escape(clean(title, limit=_MAX_TEXT))}</title></{name}>"


def text_element(
    x: float, y: float, text: str, *, kind: str = "", anchor: Anchor = Anchor.START, title: str = ""
) -> str:
    """Return one line of text; `kind` is a class of the style sheet."""
    attributes: dict[str, object] = {"class": kind} if kind else {}
    attributes |= {"x": x, "y": y}
    if anchor is not Anchor.START:
        attributes["text-anchor"] = anchor
    opened = element("text", attributes, title=title)
    content = escape(clean(text, limit=_MAX_TEXT))
    if title:
        return opened.replace("<title>", f"{content}<title>", 1)
    return f"{opened.removesuffix('/>')}>{content}</text>"


def group_element(parts: list[str], *, down: float) -> str:
    """Return elements that are moved down together."""
    return f'<g transform="translate(0 {_value(down)})">\n' + "\n".join(parts) + "\n</g>"


def _value(value: object) -> str:
    return f"{round(value, 2):g}" if isinstance(value, float | int) else escape(str(value))
