"""Two scripted sides in, the order in which they take their turns out."""

from perfledger.protocol import PROTOCOL_VERSION
from perfledger_runners.children.child_process import ChildContinuation
from perfledger_runners.children.protocol_parser import ReadyMessage, StartedMessage, TurnMessage
from perfledger_runners.measuring.interleaving import run_interleaved, stop_point


def waiting(*names, report):
    """A side that waits for its turn at each of these workloads, noting when it goes on."""
    for name in names:
        yield name
        report(name)


def test_sides_take_turns_first_second_second_first():
    order = []
    first = waiting("a", "a", "a", "b", report=lambda name: order.append(f"1{name}"))
    second = waiting("a", "a", "a", "b", report=lambda name: order.append(f"2{name}"))

    run_interleaved(first, second, ["a", "b"])

    assert order == ["1a", "2a", "2a", "1a", "1a", "2a", "1b", "2b"]


def test_the_side_that_is_behind_catches_up_before_turns_go_on():
    order = []
    first = waiting("a", "b", report=lambda name: order.append(f"1{name}"))
    second = waiting("a", "a", "a", "b", report=lambda name: order.append(f"2{name}"))

    run_interleaved(first, second, ["a", "b"])

    assert order[:4] == ["1a", "2a", "2a", "2a"]
    assert sorted(order[4:]) == ["1b", "2b"]


def test_a_side_that_never_waits_or_lost_its_workloads_holds_nobody_up():
    order = []
    second = waiting("a", "b", report=lambda name: order.append(f"2{name}"))

    run_interleaved(iter(()), second, ["a", "b"])

    assert order == ["2a", "2b"]


def test_both_sides_set_up_and_end_at_the_same_time():
    order = []
    stops = ("before a", "before a", "a", "a", "before ", "before ")
    first = waiting(*stops, report=lambda name: order.append(f"1 {name}"))
    second = waiting(*stops, report=lambda name: order.append(f"2 {name}"))

    run_interleaved(first, second, ["a"])

    set_up = ["1 before a", "2 before a", "2 before a", "1 before a"]
    assert order[:4] == set_up  # both are let go before either is waited for
    assert order[4:8] == ["1 a", "2 a", "2 a", "1 a"]
    assert order[8:10] == ["1 before ", "2 before "]


def test_a_message_that_waits_names_its_stop():
    assert stop_point(TurnMessage(version=PROTOCOL_VERSION, workload="a")) == "a"
    assert (
        stop_point(ReadyMessage(version=PROTOCOL_VERSION, workload="a"))
        == stop_point(ChildContinuation("a"))
        == "before a"
    )
    assert stop_point(StartedMessage(version=PROTOCOL_VERSION, workload="a")) is None
