"""Commands for operating the service."""
