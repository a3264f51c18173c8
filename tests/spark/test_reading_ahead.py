"""Batches are read ahead by a thread: same batches, same order, bounded memory, errors at their place."""

from __future__ import annotations

import threading
import time

import pyarrow as pa
import pytest

from ecmsketch.spark.reading_ahead import read_ahead


def batches(count, rows=100):
    for number in range(count):
        yield pa.RecordBatch.from_arrays([pa.array([number] * rows, pa.int64())], names=["n"])


def numbers(taken):
    return [batch.column(0)[0].as_py() for batch in taken]


def threads():
    return [thread for thread in threading.enumerate() if thread.name == "read-ahead"]


def ends(condition):
    until = time.monotonic() + 10
    while time.monotonic() < until:
        if condition():
            return True
        time.sleep(0.01)
    return False


@pytest.mark.parametrize("count", [0, 1, 2000])
@pytest.mark.parametrize("most", [1, 5000, 2**26])
def test_the_same_batches_in_the_same_order(count, most):
    assert numbers(read_ahead(batches(count), most)) == list(range(count))
    assert ends(lambda: not threads())


def test_it_reads_while_nobody_takes_but_only_so_many_bytes():
    read = []

    def noted():
        for batch in batches(100):
            read.append(batch.nbytes)
            yield batch

    taken = read_ahead(noted(), most=8000)
    assert numbers([next(taken)]) == [0]
    assert ends(lambda: sum(read) >= 8000)
    time.sleep(0.05)
    assert sum(read) <= 8000 + 3 * read[0], "one was taken, one waits to be put"
    assert numbers(taken) == list(range(1, 100))


def test_an_error_comes_behind_the_batches_before_it():
    def failing():
        yield from batches(3)
        raise ValueError("the pipe is broken")

    taken = []
    with pytest.raises(ValueError, match="the pipe is broken"):
        taken.extend(read_ahead(failing()))
    taken = read_ahead(failing())
    assert numbers([next(taken), next(taken), next(taken)]) == [0, 1, 2]
    with pytest.raises(ValueError, match="the pipe is broken"):
        next(taken)


def test_whoever_stops_taking_leaves_no_thread():
    taken = read_ahead(batches(10**6), most=8000)
    next(taken)
    taken.close()
    assert ends(lambda: not threads())
