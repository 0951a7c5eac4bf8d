"""Names the providers with public price lists."""

from enum import StrEnum


class Provider(StrEnum):
    """A provider with public price lists."""

    AWS = "aws"
    AZURE = "azure"
    GOOGLE = "google"
