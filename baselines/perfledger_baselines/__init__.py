"""Judging: pairs of runs in, verdicts out. Pure; knows no database and no device."""
