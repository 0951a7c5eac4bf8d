"""Owns what people do to the service: they sign in, have roles and tokens, and are audited."""
