"""Yearly cost of changes on the fleet, and the outcome of cost policies."""
