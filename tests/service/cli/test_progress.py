"""What a terminal shows while it measures."""

import io
import re

from rich.console import Console

from perfledger.records import Side
from perfledger_service.cli.progress import TerminalProgress


def test_at_80_columns_a_long_name_is_cut_and_not_how_long_it_may_take():
    shown = io.StringIO()
    console = Console(file=shown, width=80, force_terminal=True, color_system=None)

    with TerminalProgress(console) as watcher:
        watcher.pair_done(pairs=3, waiting=4, seconds_left=200)
        watcher.measuring("benchmarks.jax_transformer:train_step[batch=8]", Side.HEAD, 3)

    line = re.split(r"[\r\n]", shown.getvalue())[-3]
    assert "pair 4, head: benchmarks.jax_transfor" in line
    assert "4 undecided, at most 3 min more" in line
