"""Owns the HTTP API, the web pages and the process that serves them."""
