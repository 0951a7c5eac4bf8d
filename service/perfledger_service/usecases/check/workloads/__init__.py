"""Owns the workloads of a check: which are measured, which are new, and the rules for each."""
