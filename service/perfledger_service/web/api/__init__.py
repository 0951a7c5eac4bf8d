"""Owns the API's reads, problem documents (RFC 9457), cursors, ETags and OpenAPI description."""
