import threading
from queue import Queue

from perfledger_service.web.repeated_task import RepeatedTask


def test_a_task_is_called_again_also_after_an_error_and_not_after_its_end(caplog):
    calls: Queue[int] = Queue()
    numbers = iter(range(10**9))

    def work():
        number = next(numbers)
        calls.put(number)
        if number == 0:
            raise ZeroDivisionError

    task = RepeatedTask("counting", work, every_s=0.001)
    task.start()
    first = [calls.get(timeout=600) for _ in range(3)]
    task.stop()

    assert first == [0, 1, 2]
    assert "a repeated task failed" in caplog.text
    assert "counting" not in {thread.name for thread in threading.enumerate()}


def test_a_task_that_is_stopped_at_once_is_never_called():
    calls: list[int] = []
    task = RepeatedTask("idle", lambda: calls.append(1), every_s=3600.0)
    task.start()
    task.stop()

    assert calls == []
