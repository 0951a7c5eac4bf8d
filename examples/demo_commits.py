"""Holds the content of the demo's history: commits, machines, pull requests and decisions."""

from dataclasses import dataclass, replace
from itertools import product

from recorded_checks import ShownMachine

from perfledger.metrics import PEAK_MEMORY, STEP_TIME
from perfledger.records import Device, Machine
from perfledger_baselines.history.commits.event_state import EventState

GPT = "benchmarks.torch_gpt:train_step"
RESNET = "benchmarks.torch_resnet:inference"
ATTENTION = "benchmarks.jax_attention:inference"
FIRST_PULL_REQUEST = 41

SUBJECTS = tuple(
    f"{verb} {what}"
    for what, verb in product(
        (
            "the attention mask",
            "the data loader",
            "checkpointing",
            "the optimizer",
            "the tokenizer",
        ),
        (
            "Simplify",
            "Test",
            "Move",
            "Document",
            "Type",
            "Cache",
            "Split",
            "Fuse",
            "Log",
            "Tidy",
            "Validate",
            "Speed up",
        ),
    )
)
H100 = ShownMachine(
    machine=Machine(
        device=Device.CUDA,
        model="NVIDIA H100 80GB HBM3",
        uuid="GPU-5f2c9a4e",
        memory_bytes=85_520_809_984,
        driver="570.124.06",
        runtime="12.8",
        cpu_model="Intel Xeon Platinum 8480C",
        cores=26,
        python="3.12.9",
        frameworks={"torch": "2.9.1+cu128", "jax": "0.8.1"},
    ),
    speed=9.0,
    noise=0.05,
    margin=0.02,
    floor=0.01,
)
A100 = replace(
    H100,
    machine=replace(
        H100.machine,
        model="NVIDIA A100-SXM4-80GB",
        uuid="GPU-08d1b7f3",
        driver="550.90.07",
        cpu_model="AMD EPYC 7763",
        cores=16,
    ),
    speed=4.2,
    noise=0.08,
)
# The recorded machine, unchanged.
CPU = ShownMachine(
    machine=Machine(device=Device.CPU, model="AMD EPYC", cpu_model="AMD EPYC", cores=2)
)
NEW_DRIVER_AT, NEW_DRIVER = 30, "570.124.06"


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """What a commit changes: a metric of a workload by a factor, on the machines named."""

    workload: str
    factor: float
    commit: int = 0  # of the default branch, from zero; a pull request's is its head
    metric: str = STEP_TIME.name
    machines: tuple[ShownMachine, ...] = (H100, A100, CPU)


@dataclass(frozen=True, slots=True, kw_only=True)
class PullRequest:
    """A pull request of the history: the effect of its head, and where it was measured."""

    subject: str
    effect: Effect | None = None
    pushes: int = 1
    machines: tuple[ShownMachine, ...] = (H100, A100)
    expects: tuple[str, ...] = ()
    accepted: str = ""  # why a maintainer accepted its regression
    has_profiles: bool = False  # as recorded, on a CPU
    is_undone: bool = False  # the recorded change is taken back


EFFECTS = (
    Effect(commit=12, workload=RESNET, factor=0.90),
    Effect(commit=22, workload=GPT, factor=1.18),
    Effect(commit=34, workload=ATTENTION, factor=1.12, machines=(A100,)),
    Effect(commit=41, workload=GPT, factor=0.82),
    Effect(commit=48, workload=RESNET, factor=1.21, metric=PEAK_MEMORY.name),
    Effect(commit=57, workload=ATTENTION, factor=1.09, machines=(H100, A100)),
)
BOTH_GPUS = ("cuda:NVIDIA H100*", "cuda:NVIDIA A100*")
PULLS = (
    PullRequest(
        subject="Return the attention weights, so that attention maps can be logged",
        machines=(CPU,),
        has_profiles=True,
    ),
    PullRequest(subject="Name the parts of the ResNet after what they do"),
    PullRequest(
        subject="Accumulate gradients in float32",
        effect=Effect(workload=GPT, factor=1.14),
        accepted="needed for stable training at this depth",
    ),
    PullRequest(
        subject="Fuse the bias into the projection", effect=Effect(workload=GPT, factor=0.93)
    ),
    PullRequest(
        subject="Raise the batch of the image encoder",
        effect=Effect(workload=RESNET, factor=1.31, metric=PEAK_MEMORY.name),
    ),
    PullRequest(subject="Update the copyright headers", machines=(H100, A100, CPU)),
    PullRequest(
        subject="Pad sequences to a multiple of 64",
        effect=Effect(workload=ATTENTION, factor=1.045),
        pushes=2,
    ),
    PullRequest(subject="Cache rotary embeddings", effect=Effect(workload=GPT, factor=0.972)),
    PullRequest(
        subject="Keep activations for the probe",
        effect=Effect(workload=ATTENTION, factor=1.22, machines=(A100,)),
    ),
    PullRequest(
        subject="Return the attention weights only where they are logged",
        machines=(CPU,),
        has_profiles=True,
        is_undone=True,
    ),
    PullRequest(
        subject="Sort batches by length", effect=Effect(workload=RESNET, factor=1.012), pushes=2
    ),
    PullRequest(subject="Write checkpoints in the background", machines=(H100,), expects=BOTH_GPUS),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What a maintainer decided on an event that has `series` series."""

    series: int
    state: EventState
    reason: str
    has_end: bool = False


DECISIONS = {
    (ATTENTION, STEP_TIME.name): Decision(
        series=1, state=EventState.ACKNOWLEDGED, reason="the block size is tuned for H100 alone"
    ),
    (RESNET, PEAK_MEMORY.name): Decision(
        series=3,
        state=EventState.EXPECTED,
        reason="the larger cache is wanted",
        has_end=True,
    ),
}
