"""Tests what programs learn of devices, over real HTTP."""

from tests.service.canary_bundles import a_canary_bundle

ROUTE = "/api/v1/devices"
TOKEN = "pl_0123abcd_" + "s" * 43
OTHER_TOKEN = "pl_4567cdef_" + "t" * 43


def test_a_program_learns_the_devices_of_its_project(site):
    for number in range(8):
        site.upload(a_canary_bundle(number, speed=1.0 if number < 6 else 0.7))

    (device,) = site.get(ROUTE, token=TOKEN).json()["devices"]

    assert (device["name"], device["kind"], device["canaries"]) == ("GPU-0", "cuda", "drifting")
    assert device["quarantine"]["set_by"] == "canaries"
    assert device["quarantine"]["reason"] == device["canaries_reason"]


def test_a_device_of_another_project_is_not_listed(site):
    site.upload(a_canary_bundle(1))

    answer = site.get(ROUTE, token=OTHER_TOKEN).json()
    assert answer == {"repository": "octo/other", "devices": [], "left_out": 0}
    assert site.get(ROUTE).status_code == 401
