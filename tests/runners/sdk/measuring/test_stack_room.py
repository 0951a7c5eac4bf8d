import resource

import pytest

from perfledger.measuring.stack_room import with_stack_room
from perfledger.measuring.step_samples import measure
from tests.cases import case

CALLS = 2000
DEPTHS = range(150)  # functions with few variables fill a chunk at a depth of about 120


def leaf(one, two):
    return one, two


def faults_of_calls():
    """Return how many pages the system had to provide for calls."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for number in range(CALLS):
        leaf(number, number)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


def at_depth(depth, function):
    return function() if depth == 0 else at_depth(depth - 1, function)


def test_calls_need_no_memory_of_the_system_at_any_depth():
    for depth in DEPTHS:
        with case(depth=depth):
            assert at_depth(depth, with_stack_room(faults_of_calls)) < CALLS / 2


def test_calls_deep_inside_have_room_too():
    for depth in DEPTHS:
        with case(depth=depth):
            assert with_stack_room(at_depth)(depth, faults_of_calls) < CALLS / 2


def test_the_function_keeps_its_name_arguments_result_and_errors():
    @with_stack_room
    def quotient(one, *, by):
        """Divide."""
        return one / by

    assert (quotient.__name__, quotient.__doc__, quotient(6, by=3)) == ("quotient", "Divide.", 2)
    with pytest.raises(ZeroDivisionError):
        quotient(1, by=0)


def test_steps_are_measured_with_room():
    assert measure.__code__.co_stacksize > 10_000
