import json

import pytest


@pytest.mark.slow(ci_only=True)
def test_fix_measures_nothing_and_lists_commands(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    document = json.loads(run("bench", "doctor", "--fix", "--json"))

    assert document["noise_floor"] is None
    assert all(fix["command"] and fix["undo"] for fix in document["fixes"])
