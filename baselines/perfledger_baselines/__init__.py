"""Judges runs: estimates, tests, verdicts, baselines and the history of series. Pure."""
