"""Owns device facts: peaks, occupancy, rooflines and the efficiency metrics of a step."""
