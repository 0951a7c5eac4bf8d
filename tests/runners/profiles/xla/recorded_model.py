"""Records a few steps of a JAX model, whose text has a function `make` that returns the step."""

import importlib.util

import pytest

from perfledger.meters import jax_profile
from perfledger.meters.jax_clock import JaxClock


def recorded_steps(folder, text):
    """Return the xplane of the steps of a model, which is written into the folder's model.py."""
    jax = pytest.importorskip("jax")
    path = folder / "model.py"
    path.write_text(text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location("recorded_model_of_a_test", path)
    assert spec is not None
    assert spec.loader is not None
    model = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(model)
    step = model.make()
    step()
    return jax_profile.trace(jax, lambda: step, JaxClock(jax), folder=folder / "traces").trace
