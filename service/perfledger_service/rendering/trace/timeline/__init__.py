"""Owns timelines of steps: their lanes, charts, parts and page."""
