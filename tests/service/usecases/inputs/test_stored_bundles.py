"""The fields of a stored bundle that a caller names, and no others."""

from dataclasses import replace

import msgspec

from perfledger.bundle import FleetUse, PricingConfig
from perfledger_service.store.database import read_session
from perfledger_service.usecases.inputs.stored_bundles import StoredPricing, read_fields

HOURS = FleetUse(workload="gpt:*", where="p5/on_demand", device_hours_per_year=20_000.0)


class Fields(msgspec.Struct):
    id: str
    pricing: StoredPricing


def test_the_named_fields_of_a_stored_bundle_are_read(any_engine, judged, make_bundle):
    bundle = replace(make_bundle(ratio=1.0), pricing=PricingConfig(fleet=(HOURS,)))
    upload = judged(any_engine, bundle)

    with read_session(any_engine) as session:
        fields = read_fields(session, upload.bundle_sha256, msgspec.json.Decoder(Fields))

    assert (fields.id, fields.pricing.fleet) == (bundle.id, (HOURS,))
