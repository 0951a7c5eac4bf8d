"""The real JAX on the CPU, and the work that it counts of a step."""

import importlib

import pytest

from perfledger.meters.jax_work import count_jax_work


@pytest.fixture(scope="module")
def jax():
    return importlib.import_module("jax")


@pytest.fixture(scope="module")
def count(jax):
    core = importlib.import_module("jax.extend.core")
    return lambda step: count_jax_work(jax, core, step)
