"""Owns people's use of the service: sign-in, roles, tokens and the audit log."""
