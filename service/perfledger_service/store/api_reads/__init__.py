"""Reads for programs: pages of series, points, runs and verdicts of one project, by keyset."""
