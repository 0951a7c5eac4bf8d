"""Detects what happened in a series: shifts, transients, drift, changes of noise and states."""
