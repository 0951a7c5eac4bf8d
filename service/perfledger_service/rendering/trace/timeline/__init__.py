"""Owns timelines of steps: their lanes, charts and parts, and the page of one."""
