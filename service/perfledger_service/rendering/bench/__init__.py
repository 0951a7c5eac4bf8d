"""Workloads on this machine: lists, timings, load, canaries and detectable changes."""
