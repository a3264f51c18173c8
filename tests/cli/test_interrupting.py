"""Waiting for a streaming query: until it ends, or until Ctrl-C."""

from __future__ import annotations

import os
import signal
from types import SimpleNamespace

from ecmsketch.cli.session import run_until_interrupted


class Query(SimpleNamespace):
    """A query that is active until it is stopped."""

    def stop(self):
        self.isActive = False

    def awaitTermination(self):  # noqa: N802
        assert not self.isActive


def test_the_last_progress_of_a_query_that_ended():
    before = signal.getsignal(signal.SIGINT)
    assert run_until_interrupted(Query(isActive=False, lastProgress={"batchId": 4})) == {"batchId": 4}
    assert signal.getsignal(signal.SIGINT) is before


def test_one_interrupt_stops_after_the_current_trigger_and_says_how_to_stop_at_once(capsys):
    class Interrupted(Query):
        @property
        def isActive(self):  # noqa: N802
            if not self.stopped:
                os.kill(os.getpid(), signal.SIGINT)
            return not self.stopped

        def stop(self):
            self.stopped = True

    assert run_until_interrupted(Interrupted(stopped=False, lastProgress=None)) is None
    assert "press Ctrl-C again to stop at once" in capsys.readouterr().err
