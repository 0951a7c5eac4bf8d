import platform
import sys

import pytest

from perfledger.process.environment_facts import environment_facts
from perfledger.records import Framework


def test_the_facts_of_plain_python_are_its_version():
    found_environment_facts = environment_facts([Framework.HOST])

    assert found_environment_facts.python == platform.python_version()
    assert found_environment_facts.device == {}


@pytest.mark.slow
@pytest.mark.torch
def test_the_facts_name_the_frameworks_in_use():
    found_environment_facts = environment_facts([Framework.TORCH, Framework.JAX, Framework.TORCH])

    assert {"torch", "jax", "jaxlib", "numpy"} <= set(found_environment_facts.frameworks)
    assert "platform" in found_environment_facts.device


def test_a_framework_that_cannot_be_imported_is_an_answer_too(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)

    found_environment_facts = environment_facts([Framework.TORCH])

    assert "ModuleNotFoundError" in str(found_environment_facts.device["error"])
    assert "torch" not in found_environment_facts.frameworks
