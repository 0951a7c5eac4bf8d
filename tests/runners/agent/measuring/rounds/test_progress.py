"""Who hears nothing of the progress of a check."""

from perfledger.records import Side
from perfledger_runners.measuring.rounds.progress import MeasuringProgress, NoProgress


def test_a_check_without_a_listener_prints_nothing(capsys):
    progress: MeasuringProgress = NoProgress()

    progress.measuring("w", Side.HEAD, 0)
    progress.pair_done(pairs=1, waiting=1, seconds_left=1.0)

    assert capsys.readouterr().out == ""
