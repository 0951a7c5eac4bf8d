"""Owns uploads: receiving, judging, posting on GitHub, and the confirmation of suspects."""
