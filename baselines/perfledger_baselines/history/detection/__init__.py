"""Detects what a series did: level changes, transients, drift, changes of noise and of states."""
