"""Owns the jobs that a service's queue gives to a runner, and how a runner does them."""
