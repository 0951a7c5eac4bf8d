"""Reads a few fields of stored bundles; the rest is skipped."""

from typing import TypeVar

import msgspec
from sqlmodel import Session

from perfledger.bundle import FleetUse
from perfledger_runners.bundles.bundle_files import unpack
from perfledger_service.store.uploads import bundle_content

Fields = TypeVar("Fields", bound=msgspec.Struct)


class StoredPricing(msgspec.Struct):
    """The declared fleet of a stored bundle."""

    fleet: tuple[FleetUse, ...]


def read_fields(session: Session, sha256: str, fields: type[Fields]) -> Fields:
    """Return these fields of a bundle, without further checks: uploads are validated on arrival."""
    return msgspec.json.decode(unpack(bundle_content(session, sha256)), type=fields)
