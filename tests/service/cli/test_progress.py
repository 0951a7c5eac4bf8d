"""What a terminal shows while it measures."""

import io
import re

from rich.console import Console

from perfledger.records import Side
from perfledger_service.cli.progress import DownloadBar, PairsBar, TerminalProgress


def test_at_80_columns_a_long_name_is_cut_and_not_how_long_it_may_take():
    stream = io.StringIO()
    console = Console(file=stream, width=80, force_terminal=True, color_system=None)

    with TerminalProgress(console) as watcher:
        watcher.pair_done(pairs=3, waiting=4, seconds_left=200)
        watcher.measuring("benchmarks.jax_transformer:train_step[batch=8]", Side.HEAD, 3)

    line = re.split(r"[\r\n]", stream.getvalue())[-3]
    assert "pair 4, head: benchmarks.jax_transfor" in line
    assert "4 undecided, at most 3 min more" in line


def test_a_download_is_named_by_the_start_of_its_address():
    stream = io.StringIO()
    console = Console(file=stream, width=200, force_terminal=True, color_system=None)

    with DownloadBar(console) as bar:
        bar.began("https://" + "a" * 60, total_bytes=10)

    (name,) = set(re.findall(r"a{5,}", stream.getvalue()))
    assert name == "a" * 47


def test_a_known_number_of_pairs_has_a_bar_and_the_time_left():
    stream = io.StringIO()
    console = Console(file=stream, width=80, force_terminal=True, color_system=None)

    with PairsBar(console, most=10) as watcher:
        watcher.stage("measuring the same code")
        watcher.measuring("benchmarks.gpt:step", Side.BASE, 0)
        watcher.pair_done(pairs=5, waiting=1, seconds_left=31)

    line = re.split(r"[\r\n]", stream.getvalue())[-3]
    assert "measuring the same code" in line
    assert "pair 5 of 10, at most 31 s more" in line
    assert "\N{BOX DRAWINGS HEAVY HORIZONTAL}" * 5 in line


def test_without_a_terminal_each_stage_and_pair_is_a_line():
    stream = io.StringIO()

    with PairsBar(Console(file=stream, width=80), most=10) as watcher:
        watcher.stage("looking at the machine")
        watcher.pair_done(pairs=1, waiting=1, seconds_left=300)

    assert stream.getvalue() == ("looking at the machine ...\n  pair 1 of 10, at most 5 min more\n")


def test_each_stage_has_its_time():
    times = iter([0.0, 1.0, 4.0, 10.0])
    progress = TerminalProgress(Console(file=io.StringIO()), clock=lambda: next(times))
    progress.stage("finding workloads")
    progress.stage("measuring, for at most 30 minutes")

    assert progress.stage_times() == (
        ("checking out", 1.0),
        ("finding workloads", 3.0),
        ("measuring", 6.0),
    )
