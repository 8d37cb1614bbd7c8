"""Makes two callers meet: both have looked before either of them writes."""

from __future__ import annotations

import sqlite3
import threading

MEETING_S = 0.5


def race(monkeypatch, *callers):
    """Run `callers` in threads that meet before their first write; returns answers and exceptions.

    When they cannot meet (because one makes the other wait), they go on after MEETING_S.
    """
    barrier = threading.Barrier(len(callers))
    met = threading.local()
    connect = sqlite3.connect

    def before(statement):
        writes = statement.lstrip().upper().startswith(("INSERT", "UPDATE", "DELETE", "REPLACE"))
        if writes and not getattr(met, "done", False):
            met.done = True
            try:
                barrier.wait(MEETING_S)
            except threading.BrokenBarrierError:
                pass

    def traced(*args, **kwargs):
        conn = connect(*args, **kwargs)
        conn.set_trace_callback(before)
        return conn

    outcomes = [None] * len(callers)

    def run(number):
        try:
            outcomes[number] = callers[number]()
        except Exception as error:
            outcomes[number] = error

    with monkeypatch.context() as patch:
        patch.setattr(sqlite3, "connect", traced)
        threads = [threading.Thread(target=run, args=(number,)) for number in range(len(callers))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    return outcomes
