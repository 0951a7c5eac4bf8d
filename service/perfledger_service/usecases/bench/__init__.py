"""Owns workloads on this machine: lists, timings, load tests, canaries, detectable changes."""
