"""Reads a few fields of stored bundles and skips the rest."""

from typing import TypeVar

import msgspec
from sqlmodel import Session

from perfledger.bundle import FleetUse
from perfledger.records import WorkloadSpec
from perfledger_runners.bundles.files import unpack
from perfledger_service.store.uploads import bundle_content

Fields = TypeVar("Fields", bound=msgspec.Struct)


class StoredPricing(msgspec.Struct):
    """The declared fleet of a stored bundle."""

    fleet: tuple[FleetUse, ...]


class StoredWorkloads(msgspec.Struct):
    """The workloads that a stored bundle's head registers, and its declared fleet."""

    pricing: StoredPricing
    workloads: tuple[WorkloadSpec, ...]
    skipped: dict[str, str] = {}
    unchosen: tuple[str, ...] = ()

    @property
    def registered(self) -> tuple[str, ...]:
        """Return the ids of all workloads, measured or not."""
        return (*(spec.id for spec in self.workloads), *self.skipped, *self.unchosen)


def read_fields(session: Session, sha256: str, fields: msgspec.json.Decoder[Fields]) -> Fields:
    """Return these fields of a bundle, without further checks: uploads are validated on arrival."""
    return fields.decode(unpack(bundle_content(session, sha256)))
