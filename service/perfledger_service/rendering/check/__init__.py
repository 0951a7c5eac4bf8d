"""The report of a check: comment, terminal, JSON and web page."""
