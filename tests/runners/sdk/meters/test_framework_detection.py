import sys

import pytest

from perfledger.meters.framework_detection import framework_of
from perfledger.records import Framework
from perfledger.workload import Workload, WorkloadError

FAKES = {  # found by name only, so that no test waits for the real ones
    "torch/__init__.py": """
class Tensor: pass
def ones(): return Tensor()
from math import sqrt as matmul
""",
    "torch/nn.py": "class Module: pass\n",
    "jax/__init__.py": "def jit(f): return f\n",
    "jax/numpy.py": "",
    "torchvision/__init__.py": "",
}


@pytest.fixture(autouse=True)
def _own_process(clean_process):
    """What a test imports is forgotten after it."""


@pytest.fixture
def find(write, tmp_path, monkeypatch):
    """Return what is found out about `work` in a module of this text, beside these files."""
    for name in [*sys.modules]:
        if name.partition(".")[0] in {"torch", "torchvision", "jax", "jaxlib"}:
            monkeypatch.delitem(sys.modules, name)
    write({f"site/{name}": text for name, text in FAKES.items()})

    def framework(text, **files):
        root = write({"checkout/bench.py": text, **files}) / "checkout"
        sys.path[:0] = [str(root), str(tmp_path / "site")]
        module = __import__("bench")
        return framework_of(Workload(function=module.work, source_line="bench.py:1"), root=root)

    return framework


def plain_workload():
    return list


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("def work(): return sum", "host", id="plain Python"),
        pytest.param("import torch\ndef work(): return torch.ones", "torch", id="module"),
        pytest.param("from torch import nn\ndef work(): return nn", "torch", id="submodule"),
        pytest.param("from torch import ones\ndef work(): return ones()", "torch", id="function"),
        pytest.param("import torchvision\ndef work(): return torchvision", "torch", id="above"),
        pytest.param("import jax.numpy as jnp\ndef work(): return jnp", "jax", id="jax"),
        pytest.param("def work():\n  import torch\n  return torch", "torch", id="lazily"),
        pytest.param(
            "def work():\n  def step():\n    from jax import numpy\n  return step",
            "jax",
            id="lazily, in the step",
        ),
        pytest.param(
            "from torch.nn import Module\nclass Net(Module): pass\ndef work(): return Net",
            "torch",
            id="base class",
        ),
        pytest.param(
            "import torch\nX = torch.ones()\ndef work(): return X", "torch", id="a tensor"
        ),
        pytest.param(
            "import torch\nclass Net:\n  def run(self): return torch\n"
            "NET = Net()\ndef work(): return NET",
            "torch",
            id="an object of the user's class",
        ),
        pytest.param(
            "import torch\nclass Net:\n  @staticmethod\n  def a(): return torch\n"
            "def work(): return Net",
            "torch",
            id="static method",
        ),
        pytest.param(
            "import torch\nclass Net:\n  @property\n  def a(self): return torch\n"
            "def work(): return Net",
            "torch",
            id="property",
        ),
        pytest.param(
            "import functools, torch\ndef f(n): return torch\nG = functools.partial(f, 1)\n"
            "def work(): return G",
            "torch",
            id="partial",
        ),
        pytest.param(
            "import functools, torch\ndef inner(): return torch\n"
            "@functools.wraps(inner)\ndef outer(): return 1\ndef work(): return outer",
            "torch",
            id="wrapped",
        ),
        pytest.param(
            "import torch\ndef make():\n  t = torch\n  def work(): return t\n  return work\n"
            "work = make()",
            "torch",
            id="closure",
        ),
        pytest.param(
            "def make():\n  def work(): return x\n  if 0: x = 1\n  return work\nwork = make()",
            "host",
            id="closure without content",
        ),
        pytest.param(
            "import torch\nALL = {'t': torch.ones}\ndef work(): return ALL", "torch", id="module's"
        ),
        pytest.param(
            "import torch, jax\ndef work(): return torch\ndef other(): return jax",
            "torch",
            id="the function's own before the module's",
        ),
    ],
)
def test_the_framework_is_what_the_function_reaches(find, text, expected):
    assert find(text) == expected


def test_it_is_reached_through_the_users_other_modules(find):
    files = {
        "checkout/mine/__init__.py": "",
        "checkout/mine/model.py": "import torch\ndef build(): return torch.ones()\n",
    }

    assert find("import mine.model\ndef work(): return mine.model.build()", **files) == "torch"


def test_other_peoples_packages_are_not_searched(find):
    files = {"site/other.py": "import torch\ndef build(): return torch\n"}

    assert find("import other\ndef work(): return other.build()", **files) == "host"


def test_both_frameworks_are_an_error_that_says_what_to_do(find):
    with pytest.raises(WorkloadError, match=r'bench:work.* torch and jax: .*framework="torch"'):
        find("import torch, jax\ndef work(): return torch, jax")


def test_a_framework_that_is_not_installed_is_not_reached(find, monkeypatch):
    packages = {"no_such_framework": Framework.TORCH, "jax": Framework.JAX}
    monkeypatch.setattr("perfledger.meters.framework_detection.PACKAGES", packages)

    assert find("def work():\n  import jax, no_such_framework\n  return jax") == "jax"


def test_a_declared_framework_is_not_searched_for(tmp_path):
    workload = Workload(function=plain_workload, source_line="x:1", framework=Framework.JAX)

    assert framework_of(workload, root=tmp_path) is Framework.JAX


BACKENDS = """
class Torch:
    def sum(self, x):
        import torch
        return torch.sum(x)
class Jax:
    def sum(self, x):
        import jax
        return jax.numpy.sum(x)
def total(x):
    return {"torch": Torch, "jax": Jax}[x.kind]().sum(x)
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("import torch\nfrom backends import total\ndef work(): return total(torch.ones)", "torch"),
        ("import jax, backends\ndef work(): return backends.total(jax.jit)", "jax"),
        ("from backends import total\ndef work(): return total([1])", "host"),
        ("from backends import total\nimport jax\nX = jax.jit\ndef work(): return total(X)", "jax"),
    ],
)
def test_of_several_backends_that_a_package_supports_the_workload_uses_one(find, text, expected):
    assert find(text, **{"checkout/backends.py": BACKENDS}) == expected


def test_a_package_that_imports_several_backends_leaves_it_open(find):
    eager = f"import torch, jax\n{BACKENDS}\ndef both(x): return torch.ones(), jax.jit(x)\n"

    with pytest.raises(WorkloadError, match="uses torch and jax"):
        find(
            "from backends import both\ndef work(): return both(1)",
            **{"checkout/backends.py": eager},
        )
