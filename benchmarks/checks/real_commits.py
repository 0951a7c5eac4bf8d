"""Checks commits of public repositories: one that is known to be faster, and refactorings.

    git clone --mirror https://github.com/karpathy/nanoGPT MIRRORS/nanoGPT   (and the others alike)
    pip install chex absl-py attrs
    python benchmarks/checks/real_commits.py MIRRORS [--budget 2m] [--case NAME]

Today's workload is laid over both revisions. nanoGPT's commit that takes torch's fused attention
must be found and attention named as its cause; of the refactorings nothing may be said. The
exit code is the number of cases that came out otherwise.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

NANO_GPT = """
import perfledger

@perfledger.workload(device="cpu")
def train_step():
    import torch
    from model import GPT, GPTConfig

    torch.manual_seed(1)
    torch.set_num_threads(1)
    sizes = dict(block_size=256, vocab_size=256, n_layer=2, n_head=4, n_embd=64, dropout=0.0)
    model = GPT(GPTConfig(**sizes))
    optimizer = model.configure_optimizers(0.1, 1e-4, (0.9, 0.95), "cpu")
    tokens = torch.randint(256, (4, 257))

    def step():
        _, loss = model(tokens[:, :-1], tokens[:, 1:].contiguous())
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        return loss.detach()

    return step
"""
# Before the optimizer took a type of device.
NANO_GPT_FORWARD = """
import perfledger

@perfledger.workload(device="cpu")
def forward_backward():
    import torch
    from model import GPT, GPTConfig

    torch.manual_seed(1)
    torch.set_num_threads(1)
    sizes = dict(block_size=512, vocab_size=256, n_layer=2, n_head=4, n_embd=64, dropout=0.0)
    model = GPT(GPTConfig(**sizes))
    tokens = torch.randint(256, (4, 513))

    def step():
        _, loss = model(tokens[:, :-1], tokens[:, 1:].contiguous())
        model.zero_grad(set_to_none=True)
        loss.backward()
        return loss.detach()

    return step
"""
EINOPS = """
import perfledger

@perfledger.workload(device="cpu", framework="torch")
def patches():
    import torch
    from einops import rearrange, reduce

    torch.set_num_threads(1)
    images = torch.rand(8, 3, 64, 64)

    def step():
        tokens = rearrange(images, "b c (h p) (w q) -> b (h w) (p q c)", p=8, q=8)
        return reduce(tokens, "b n c -> b c", "mean")

    return step
"""
OPTAX = """
import perfledger

@perfledger.workload(device="cpu", framework="jax")
def adamw():
    import jax
    import jax.numpy as jnp
    import optax

    params = {str(n): jnp.ones((256, 256)) for n in range(12)}
    optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(1e-3))
    state = [params, optimizer.init(params)]

    @jax.jit
    def update(params, state):
        updates, state = optimizer.update(params, state, params)
        return optax.apply_updates(params, updates), state

    def step():
        state[0], state[1] = update(*state)
        return state[0]

    return step
"""
ATTRS = """
import perfledger

@perfledger.workload(device="cpu")
def make_classes():
    import attr

    names = list("abcdefgh")

    def step():
        return [attr.make_class("Point", names, slots=True) for _ in range(3)]

    return step
"""
CATTRS = """
import perfledger

@perfledger.workload(device="cpu")
def structure():
    import attr
    from cattrs import Converter

    @attr.define
    class Point:
        x: int
        y: float

    converter = Converter()
    rows = [{"x": 1, "y": 2.0}] * 2000

    def step():
        return converter.structure(rows, list[Point])

    return step
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class RealCommit:
    """A commit of a repository, the workload to check it with, and what must come out."""

    repository: str
    commit: str
    workload: str
    outcomes: frozenset[str] = frozenset({"unchanged"})  # of the step time
    cause: str = ""  # one of these words is in a cause's name


CASES = {
    "nanoGPT: fused attention": RealCommit(
        repository="nanoGPT",
        commit="ae06d0b1",
        workload=NANO_GPT_FORWARD,
        outcomes=frozenset({"improved"}),
        cause="attention softmax bmm",
    ),
    "nanoGPT: simpler configure_optimizers": RealCommit(
        repository="nanoGPT", commit="d4852625", workload=NANO_GPT
    ),
    "einops: simpler product": RealCommit(repository="einops", commit="68bc97f", workload=EINOPS),
    "optax: tree utilities": RealCommit(repository="optax", commit="a5710292", workload=OPTAX),
    "attrs: setters in a function": RealCommit(
        repository="attrs", commit="deb97638", workload=ATTRS
    ),
    "cattrs: simpler is_typeddict": RealCommit(
        repository="cattrs", commit="aec154c", workload=CATTRS
    ),
}


def check(mirror: Path, case: RealCommit, folder: Path, *, budget: str) -> dict[str, Any]:
    """Check the commit against its parent; return the report's JSON document."""
    checkout, workloads = folder / "repository", folder / "workloads"
    subprocess.run(["git", "clone", "--quiet", str(mirror), str(checkout)], check=True)
    (workloads / "benchmarks").mkdir(parents=True)
    (workloads / "benchmarks" / "real_commit.py").write_text(case.workload, encoding="utf-8")
    revisions = ["--base", f"{case.commit}~1", "--head", case.commit]
    options = ["--workloads-from", str(workloads), "--budget", budget, "--device", "cpu", "--json"]
    (workloads / "perfledger.toml").write_text("margin = 0.03\n", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "perfledger_service", "check", *revisions, *options],
        cwd=checkout,
        check=False,
        capture_output=True,
        text=True,
    )
    if not done.stdout:
        raise SystemExit(done.stderr)
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def main() -> int:
    """Print a line for each case; return how many came out otherwise."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("mirrors", type=Path, help="folder with a clone of each repository")
    parser.add_argument("--budget", default="2m")
    parser.add_argument("--case", choices=CASES, action="append")
    options = parser.parse_args()
    wrong = 0
    for name in options.case or CASES:
        case = CASES[name]
        with tempfile.TemporaryDirectory() as folder:
            mirror = options.mirrors / case.repository
            report = check(mirror, case, Path(folder), budget=options.budget)
        (step_time,) = [
            each for each in report["verdicts"] if each["metric"]["name"] == "step_time_p50"
        ]
        causes = [cause["name"] for each in report["explanations"] for cause in each["causes"]]
        is_named = any(word in cause for word in case.cause.split() for cause in causes)
        is_right = step_time["outcome"] in case.outcomes and (is_named or not case.cause)
        wrong += not is_right
        other = "undecided" if step_time["outcome"] == "undecided" else "OTHERWISE"
        print(f"{'as expected' if is_right else other:>11}  {name}: {step_time['reason']}")
        if causes:
            print(f"{'':>11}  causes: {', '.join(causes)}", flush=True)
    return wrong


if __name__ == "__main__":
    sys.exit(main())
