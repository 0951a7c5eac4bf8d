"""Fixtures of the tests of `perfledger cost`."""

import pytest


@pytest.fixture
def written(tmp_path):
    def written(text, name="perfledger.toml"):
        path = tmp_path / name
        path.write_text(text)
        return path

    return written
