"""Bundles of older versions are brought up, step by step."""

from perfledger.bundle import BUNDLE_VERSION
from perfledger_runners.bundles import files as bundle_files
from perfledger_runners.bundles.files import upgrade


def test_an_older_version_is_brought_up_step_by_step():
    steps = {
        1: lambda old: {**old, "runs": old["samples"]},
        2: lambda old: {**old, "runs": [*old["runs"], "three"]},
    }
    old = {"format": "perfledger-bundle", "version": 1, "samples": ["one"]}

    new = upgrade(old, upgrades=steps, current=3)

    assert (new["version"], new["runs"]) == (3, ["one", "three"])


def test_there_is_an_upgrade_from_every_older_version():
    assert list(bundle_files.UPGRADES) == list(range(1, BUNDLE_VERSION))
