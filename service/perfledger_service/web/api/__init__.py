"""The API's reads, its problem documents (RFC 9457), its cursors, ETags and OpenAPI description."""
