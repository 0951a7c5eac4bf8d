"""The sites of owned servers."""

from enum import StrEnum


class ServerSite(StrEnum):
    """The site of an owned server."""

    COLOCATION = "colocation"  # rented by the provisioned kW
    FACILITY = "facility"  # one's own, written off over its own years
