"""Draws charts as SVG."""
