import os
import selectors
from contextlib import closing

from perfledger.protocol import FD_VARIABLE
from perfledger_runners.children.answer_socket import PairedSocket


def test_a_child_answers_on_the_descriptor_that_it_inherits():
    with closing(PairedSocket()) as answers, selectors.DefaultSelector() as selector:
        (theirs,) = answers.inherited
        child = os.dup(theirs)
        answers.child_started()
        answers.watch(selector)

        assert answers.read() == b""
        assert answers.unread() == b""
        os.write(child, b"ready")
        assert [answers.unread() for _ in range(2)] == [b"ready"] * 2
        answers.start_turn()
        assert (answers.read(), os.read(child, 8)) == (b"ready", b"\n")
        os.close(child)
        assert selector.select(0)
        assert answers.unread() == b""
        assert answers.read() == b""
        assert not selector.select(0)
        assert answers.trouble() is None


def test_a_turn_may_name_a_core():
    with closing(PairedSocket()) as answers:
        child = os.dup(answers.inherited[0])
        answers.start_turn(12)

        assert os.read(child, 8) == b"12\n"
        os.close(child)


def test_the_variable_names_the_descriptor():
    with closing(PairedSocket()) as answers:
        assert answers.variables == {FD_VARIABLE: str(answers.inherited[0])}
