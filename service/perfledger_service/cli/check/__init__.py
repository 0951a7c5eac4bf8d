"""Commands about a change: set up, check, report, compare, upload."""
