"""The canaries in jax: each sets up and computes, at a small size."""

from importlib import import_module

import pytest

pytestmark = pytest.mark.slow

SMALL: dict[str, dict[str, object]] = {
    "matmul": {"dtype": "float32", "size": 8},
    "attention": {"dtype": "float32", "tokens": 4},
    "layer_norm": {"rows": 2},
    "embedding": {"tokens": 3},
    "memory_copy": {"mebibytes": 1},
    "gpt_block": {"tokens": 2},
    "resnet_block": {"images": 1},
    "decode_step": {"sequences": 2},
}
QUICK = {"matmul", "layer_norm", "embedding"}
SHAPES = {
    "matmul": (8, 8),
    "layer_norm": (2, 1024),
    "embedding": (3, 512),
    "resnet_block": (1, 64, 56, 56),
}


@pytest.fixture(scope="module")
def canaries():
    return import_module("perfledger.canaries.jax_canaries")


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name in QUICK else pytest.mark.slow(ci_only=True))
        for name in SMALL
    ],
)
def test_a_canary_computes_on_the_host(canaries, name):
    device = {}

    result = getattr(canaries, name)(**SMALL[name], **device)()

    assert result is not None
    if name in SHAPES:
        assert tuple(result.shape) == SHAPES[name]
