"""Steps that are measured beside other load."""

from dataclasses import dataclass

PAIRS, TURNS = 11, 25
MARGIN = 0.05


@dataclass(frozen=True, kw_only=True)
class Step:
    """Seconds of a step: CPU time of its thread, of helpers, and off the CPU."""

    cpu: float = 0.03
    helpers: float = 0.0
    off: float = 0.0
    own_queue: float = 0.0  # behind its own process's threads, as far as they run, and others
    helper_wait: float = 0.0  # of the time off the CPU: at most so long for helpers in run queues
    is_unseen: bool = False  # nobody saw whether these helpers waited
