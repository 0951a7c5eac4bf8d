from perfledger.records import FailureReason
from perfledger_runners.measuring.discovery import Discovery, UnreadablePath
from perfledger_service.usecases.check.workloads.moved_paths import with_moved_paths

GONE = UnreadablePath(path="benchmarks", reason=FailureReason.MISSING, detail="create it")
BROKEN = UnreadablePath(path="b.py", reason=FailureReason.RAISED, detail="SyntaxError")


def test_a_path_that_heads_configuration_moves_says_how_to_compare_all_the_same():
    head = with_moved_paths(Discovery(broken=(BROKEN, GONE)), head_paths=("perf", "more"))

    broken, moved_path = head.broken
    assert broken == BROKEN
    assert moved_path.detail == (
        "head has no 'benchmarks' and sets `paths` to perf, more, but base's `paths` decide: "
        "`perfledger check --workloads-from HEAD` measures both sides with the workloads of head; "
        "once this is merged, checks find them"
    )


def test_without_other_paths_nothing_is_said_of_them():
    discovery = Discovery(broken=(GONE,))

    assert with_moved_paths(discovery, head_paths=()) == discovery
