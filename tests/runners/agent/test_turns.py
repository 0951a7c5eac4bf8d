"""Two scripted sides in, the order in which they take their turns out."""

from perfledger_runners.pairs import alternate


def waiting(*names, told):
    """A side that waits for its turn at each of these workloads, noting when it goes on."""
    for name in names:
        yield name
        told(name)


def test_sides_take_turns_first_second_second_first():
    order = []
    first = waiting("a", "a", "a", "b", told=lambda name: order.append(f"1{name}"))
    second = waiting("a", "a", "a", "b", told=lambda name: order.append(f"2{name}"))

    alternate(first, second, ["a", "b"])

    assert order == ["1a", "2a", "2a", "1a", "1a", "2a", "2b", "1b"]


def test_the_side_that_is_behind_catches_up_before_turns_go_on():
    order = []
    first = waiting("a", "b", told=lambda name: order.append(f"1{name}"))
    second = waiting("a", "a", "a", "b", told=lambda name: order.append(f"2{name}"))

    alternate(first, second, ["a", "b"])

    assert order[:4] == ["1a", "2a", "2a", "2a"]
    assert sorted(order[4:]) == ["1b", "2b"]


def test_a_side_that_never_waits_or_lost_its_workloads_holds_nobody_up():
    order = []
    second = waiting("a", "b", told=lambda name: order.append(f"2{name}"))

    alternate(iter(()), second, ["a", "b"])

    assert order == ["2a", "2b"]
