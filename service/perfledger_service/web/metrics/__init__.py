"""Serves the metrics for Prometheus."""
