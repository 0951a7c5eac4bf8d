"""The units of work of the canaries, worked out by hand."""

from perfledger.canaries import units as canary_units


def test_units_are_what_must_be_computed_or_moved():
    assert canary_units.product_flops(10) == 2000
    assert canary_units.attention_flops(10) == 2 * (2 * 8 * 10 * 10 * 64)
    assert canary_units.row_bytes(3, 5) == canary_units.vector_bytes(3, 5) == 2 * 4 * 15
    assert canary_units.copied_bytes(2) == 2 * canary_units.message_bytes(2) == 4 * 2**20
    assert canary_units.token_count(7) == canary_units.image_count(7) == 7
    assert canary_units.sequence_count(7) == canary_units.sample_count(7) == 7
