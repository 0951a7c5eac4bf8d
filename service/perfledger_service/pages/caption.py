"""Turns a sentence into the lines that fit above a picture of 960 units."""

from textwrap import wrap

from perfledger_service.pages.escape import clean

# As the templates draw it: what fits the width at 11 pixels, and what is left above the shapes.
LINE = 150
LINES = 2


def caption(text: str) -> tuple[str, ...]:
    """Return clean text as lines; what does not fit is cut with an ellipsis."""
    lines = wrap(clean(text, limit=LINES * LINE), LINE)
    kept = lines[:LINES]
    if len(lines) > LINES:
        kept[-1] = clean(" ".join(lines[LINES - 1 :]), limit=LINE)
    return tuple(kept)
