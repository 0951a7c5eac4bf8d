"""The text of a terminal that is narrower or wider than a file."""

import pytest

from perfledger_service.rendering.layout import writers


def lines_at(renderable, *, width):
    """Return the text at a number of columns."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(writers, "WIDTH", width)
        return writers.plain_lines(renderable)
