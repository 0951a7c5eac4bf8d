"""Owns queries about the fleet: machines, their utilization, and imported files."""
