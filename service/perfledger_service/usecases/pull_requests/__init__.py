"""Owns uploads: judging, posting on GitHub, approvals and confirmation of suspects."""
