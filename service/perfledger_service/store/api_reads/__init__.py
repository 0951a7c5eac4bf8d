"""Reads one project's series, points, runs and verdicts for the API, in pages by keyset."""
