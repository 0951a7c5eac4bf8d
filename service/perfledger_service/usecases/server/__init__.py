"""Owns what a service's operator does to it as a whole."""
