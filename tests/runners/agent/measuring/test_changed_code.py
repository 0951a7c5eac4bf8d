"""Lines of a profile that the head changed are marked, on head only."""

from perfledger.profile import Bucket, CallingLine, HeldTensors, Operation, Profile
from perfledger.records import Side
from perfledger_runners.measuring.changed_code import mark_changed_lines
from perfledger_runners.measuring.profile_runs import ProfileRuns


def profile(side):
    lines = (
        CallingLine(path="a.py", line=3, calls=1.0),
        CallingLine(path="a.py", line=4, calls=1.0),
        CallingLine(path="b.py", line=3, calls=1.0),
    )
    operation = Operation(name="mm", bucket=Bucket.COMPUTE, seconds=1.0, count=1.0, lines=lines)
    return Profile(
        workload="m:f",
        side=side,
        tool="torch.profiler",
        steps=4,
        step_seconds=1.0,
        operations=(operation,),
        peak_tensors=(
            HeldTensors(operator="mm", tensor="float32[9]", bytes=36.0, count=1, lines=lines[:2]),
        ),
    )


def test_lines_in_a_changed_range_of_their_file_are_marked_on_head():
    ranges = {"a.py": (range(1, 2), range(4, 6)), "b.py": ()}
    requests = list[str]()

    def changed_lines(path):
        requests.append(path)
        return ranges[path]

    marked = mark_changed_lines(
        ProfileRuns(profiles=tuple(map(profile, Side)), notes=("kept",)), changed_lines
    )

    base, head = marked.profiles
    assert base == profile(Side.BASE)
    assert [(one.path, one.line) for one in head.operations[0].lines if one.is_changed] == [
        ("a.py", 4)
    ]
    assert [one.is_changed for one in head.peak_tensors[0].lines] == [False, True]
    assert sorted(requests) == ["a.py", "b.py"]  # once for each file
    assert marked.notes == ("kept",)
