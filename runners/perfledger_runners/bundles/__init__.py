"""Owns result bundles: reading, checking, writing, and the exchange with the service."""
