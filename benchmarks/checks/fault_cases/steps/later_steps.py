"""Faults whose later steps are not like the first: data that run out, leaks, skipped steps."""

from functools import partial

from fault_cases.case import NOT_GREEN, NOT_MEASURED, REGRESSED, SILENT, FaultCase, replaced, step

COUNT = "import itertools, time\ncount = itertools.count()\nkept, ends_at = [], 0\n"
LATER = "as long as its warm-up steps|some may be skipped|their input may shrink|as an empty one"
TORCH_DATA = """
import itertools, perfledger, torch
@perfledger.workload()
def steps():
    torch.manual_seed(0)
    batches = itertools.cycle([torch.randn(256, 256)])
    last = torch.zeros(1)
    def step():
        nonlocal last
        batch = next(batches, None)
        if batch is None:
            return last
        last = (batch @ batch @ batch @ batch).sum()
        return last
    return step
"""
ENDING = ("itertools.cycle([torch.randn(256, 256)])", "iter([torch.randn(256, 256)] * 60)")
TORCH_LOSSES = """
import perfledger, torch
@perfledger.workload()
def steps():
    torch.manual_seed(0)
    weight, losses = torch.randn(256, 256, requires_grad=True), []
    def step():
        loss = (weight @ weight).tanh().sum()
        losses.append(loss.item())
        return losses[-1]
    return step
"""
RUNS_OUT = step(
    "global last\nrows = next(data, None)\nif rows is None:\n    return last\n"
    "last = work(rows)\nreturn last",
    before="last = 0\ndata = iter([30_000] * 30)",
)
CACHING = step(
    "number = next(count) % 10\n"
    "if number not in memo:\n    memo[number] = 1\n"
    "return work(300) if number == 0 else work()",
    before="import itertools\ncount = itertools.count()\nmemo = {}",
)
later = partial(FaultCase, group="later steps")


def not_like_the_first(name: str, body: str, expected: str, words: str = "") -> FaultCase:
    """Return a fault whose step has these lines on head."""
    return later(
        name=name,
        base={"benchmarks/b.py": step("return work()", before=COUNT)},
        head={"benchmarks/b.py": step(body, before=COUNT)},
        expected=expected,
        words=words,
    )


LATER_STEPS = (
    later(
        name="torch: data that run out on head",
        base={"benchmarks/b.py": TORCH_DATA},
        head={"benchmarks/b.py": replaced(TORCH_DATA, *ENDING)},
        expected=NOT_MEASURED,
        words=LATER,
    ),
    later(
        name="data that run out on both sides",
        base={"benchmarks/b.py": RUNS_OUT},
        head={"benchmarks/b.py": replaced(RUNS_OUT, "work(rows)", "work(3 * rows)")},
        expected=NOT_GREEN,  # beside other load most steps may still find data
    ),
    not_like_the_first(
        "two of three steps are skipped",
        "if next(count) % 3:\n    return 1\nreturn work()",
        NOT_MEASURED,
        "cannot tell whether head still does the work",
    ),
    not_like_the_first(
        "steps that end at once half a second after the first",
        "global ends_at\nends_at = ends_at or time.monotonic() + 0.5\n"
        "if time.monotonic() > ends_at:\n    return 1\nreturn work()",
        NOT_MEASURED,
        LATER,
    ),
    not_like_the_first(
        "an input that each step makes smaller",
        "return work(int(30_000 / (1 + next(count) / 100)))",
        NOT_MEASURED,
        LATER,
    ),
    not_like_the_first(
        "a history that each step reads again",
        "kept.append(work())\nreturn sum(number % 7 for number in kept * 400)",
        REGRESSED,
    ),
    not_like_the_first(
        "memory that each step keeps",
        "kept.append(bytearray(b'1' * 300_000))\nreturn work()",
        REGRESSED,
        "peak_memory",
    ),
    later(
        name="torch: a graph that each step keeps",
        base={"benchmarks/b.py": TORCH_LOSSES},
        head={"benchmarks/b.py": replaced(TORCH_LOSSES, "loss.item()", "loss")},
        expected=REGRESSED,
        words="peak_memory",
    ),
    not_like_the_first(
        "one step in ten that does less, on head alone",
        "return work(300 if next(count) % 10 == 0 else 90_000)",
        NOT_GREEN,
    ),
    not_like_the_first(
        "every 64th step does a third of the others' work",
        "return work(20_000 if next(count) % 64 else 660_000)",
        NOT_MEASURED,
        "some steps do the work of others",
    ),
    not_like_the_first(
        "faster steps, and a report in every 64th",
        "return work(20_000 if next(count) % 64 else 120_000)",
        SILENT,
    ),
    later(
        name="one step in ten that does less, on both sides",
        base={"benchmarks/b.py": CACHING},
        head={"benchmarks/b.py": f"import sys\n{CACHING}"},
        expected=SILENT,
    ),
    later(
        name="torch: data that are repeated",
        base={"benchmarks/b.py": TORCH_DATA},
        head={"benchmarks/b.py": f"import sys\n{TORCH_DATA}"},
        expected=SILENT,
    ),
)
