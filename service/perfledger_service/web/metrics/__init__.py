"""Serves what Prometheus reads."""
