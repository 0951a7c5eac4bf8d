"""Defines what notices are, and what is sent of them."""
