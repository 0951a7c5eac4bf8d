"""Tests `/api/v1/ab-requests` over real HTTP: the A/B runs that a default branch needs."""

import pytest

from tests.service.suspects import MACHINE, SHAS, store_suspect

TOKEN = "pl_0123abcd_" + "s" * 43
OTHER_TOKEN = "pl_4567cdef_" + "t" * 43
ROUTE = "/api/v1/ab-requests"


@pytest.fixture
def suspected(site, make_bundle):
    """A site on which the newest commit of octo/models is suspected, seen on two devices."""
    bundle = make_bundle(pull_request=None)
    upload = site.upload(bundle).json()["id"]
    store_suspect(site.engine, upload, bundle, devices=("GPU-2", "GPU-1"))
    return site


def test_a_project_is_told_what_to_measure_and_why(suspected):
    answer = suspected.get(ROUTE, token=TOKEN)

    assert answer.status_code == 200
    assert answer.json() == {
        "repository": "octo/models",
        "requests": [
            {
                "workload": "gpt:step",
                "machine_class": MACHINE,
                "base_sha": SHAS[0],
                "head_sha": SHAS[1],
                "max_pairs": 8,
                "purpose": "confirm",
                "requested_on": "2026-11-20",
                "waits": "",
                "suspects": [{"metric": "step_time_p50", "change": 0.05}],
                "devices": ["GPU-1", "GPU-2"],
            }
        ],
    }


def test_another_project_is_told_nothing_of_it(suspected):
    answer = suspected.get(ROUTE, token=OTHER_TOKEN)

    assert answer.json() == {"repository": "octo/other", "requests": []}


@pytest.mark.parametrize("token", [None, "pl_0123abcd_" + "x" * 43])
def test_nobody_is_told_without_a_token(suspected, token):
    answer = suspected.get(ROUTE, token=token)

    assert answer.status_code == 401
    assert "gpt:step" not in answer.text
