"""Owns the values of durable work and of jobs for runners."""
