"""Commands of whoever operates the service."""
