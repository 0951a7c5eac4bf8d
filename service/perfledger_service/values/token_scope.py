"""Holds what a project's token may do."""

from enum import StrEnum


class TokenScope(StrEnum):
    """What a token may do: read what the project has learnt, or upload as well."""

    READ = "read"
    UPLOAD = "upload"
