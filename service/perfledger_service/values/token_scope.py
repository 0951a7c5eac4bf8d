"""Holds what a project's token may do."""

from enum import StrEnum


class TokenScope(StrEnum):
    """What a token may do: read what the project has learnt, and upload or maintain as well."""

    READ = "read"
    UPLOAD = "upload"
    MAINTAIN = "maintain"

    def includes(self, scope: "TokenScope") -> bool:
        """Return whether a token of this scope may do what a scope is for."""
        return scope in {TokenScope.READ, self}
