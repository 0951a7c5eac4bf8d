"""Waiting times from queueing theory, and how many servers are enough."""
