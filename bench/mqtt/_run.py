"""One run of the load generator: its connections, who sends to whom, and the loop that moves the messages.

The loop is closed: a flow has at most its window of messages that are not yet with all its subscribers and
acknowledged, so that no broker has to drop one. A new batch leaves when a quarter of the window is free. When little
has come the loop naps, so that a broker with many small writes does not make the load generator the limit.
"""

from __future__ import annotations

import os
import select
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from bench.mqtt._end import End
from bench.mqtt._layout import ALL_TOPICS, Layout, Lost, topic_of
from bench.mqtt._packets import open_link, open_subscription
from bench.mqtt._publisher import Publisher
from bench.mqtt._subscriber import ExactSubscriber, Subscriber

STALL_S: Final = 10.0  # nothing came for so long: what is missing is lost
WARM_UP_S: Final = 0.15
NAP_S: Final = 0.0002


@dataclass(frozen=True)
class Load:
    """Who talks to whom, and how."""

    port: int
    pid: int  # of the broker
    publishers: int
    subscribers: int
    qos: int
    payload_bytes: int
    seconds: float
    window: int = 0  # messages in flight, over all publishers
    rate: float = 0.0  # messages published per second, over all publishers
    persistent: bool = False  # the subscribers' sessions


class Flow:
    """Publishers whose messages all go to the same subscribers, and the window they share."""

    def __init__(self, publishers: list[Publisher], subscribers: list[Subscriber], window: int) -> None:
        self._publishers, self._subscribers = publishers, subscribers
        self._window = window
        self._least = max(len(publishers), window // 4)

    @property
    def sent(self) -> int:
        return sum([each.sent for each in self._publishers])

    @property
    def delivered(self) -> int:
        return sum([each.delivered for each in self._subscribers])

    def refill(self) -> None:
        """Publish what the window has room for, if it is worth it."""
        publishers = self._publishers
        done = min([sum([each.acked for each in publishers]), *[each.delivered for each in self._subscribers]])
        room = self._window - self.sent + done
        if room >= self._least:
            for publisher in publishers:
                publisher.publish(room // len(publishers))

    def is_settled(self) -> bool:
        """Nothing is on its way any more."""
        sent = self.sent
        return all(each.settled == sent for each in self._subscribers) and all(
            each.acked == each.sent for each in self._publishers
        )


class Run:
    """Connections as a load asks for them. Pairs if there are as many of both, else all subscribers get everything."""

    def __init__(self, load: Load, *, timed: bool = False) -> None:
        self._load = load
        self._poll = select.epoll()
        layout, pairs = Layout(load.qos, load.payload_bytes), load.publishers == load.subscribers
        self._little_bytes = load.window * layout.size // 8
        kind = ExactSubscriber if load.qos == 2 else Subscriber
        self.subscribers: list[Subscriber] = []
        for number in range(load.subscribers):
            link = open_link(load.port, b"sub%04d" % number, clean=not load.persistent)
            open_subscription(link, self._filter(number), load.qos)
            self.subscribers.append(kind(link, self._poll, layout, load.publishers, timed=timed))
        self.publishers = [
            Publisher(open_link(load.port, b"pub%04d" % number), self._poll, layout, number)
            for number in range(load.publishers)
        ]
        if pairs:
            ends, window = zip(self.publishers, self.subscribers, strict=True), load.window // load.publishers
            self._flows = [Flow([publisher], [subscriber], window) for publisher, subscriber in ends]
        else:
            self._flows = [Flow(self.publishers, self.subscribers, load.window)]
        self._ends: dict[int, tuple[End, Flow]] = {}
        for number, end in [*enumerate(self.publishers), *enumerate(self.subscribers)]:
            self._ends[end.fileno()] = end, self._flows[number % len(self._flows)]

    def throughput(self) -> tuple[float, float, float]:
        """Messages delivered per second, and the shares of a core that the broker and this process used meanwhile."""
        for flow in self._flows:
            flow.refill()
        self._turn_until(time.perf_counter() + WARM_UP_S)
        began, before, theirs, ours = time.perf_counter(), self._delivered(), cpu_s(self._load.pid), time.process_time()
        self._turn_until(began + self._load.seconds)
        took, theirs, ours = time.perf_counter() - began, cpu_s(self._load.pid) - theirs, time.process_time() - ours
        rate = (self._delivered() - before) / took
        self._settle()
        return rate, theirs / took, ours / took

    def delays_ns(self) -> tuple[np.ndarray[tuple[int], np.dtype[np.int64]], float]:
        """From publishing to having the message, at a steady rate; and the share of a core that others used.

        The first messages do not count: of a hundred publishers every first one finds a route that is not known yet.
        """
        began, before = time.perf_counter(), others_s(self._load.pid)
        publishers, gap_ns = self.publishers, int(1e9 / self._load.rate)
        due = time.perf_counter_ns()
        since = due + int(WARM_UP_S * 1e9)
        for number in range(int((WARM_UP_S + self._load.seconds) * self._load.rate)):
            while (now := time.perf_counter_ns()) < due:
                select.select([self._poll], [], [], (due - now) / 1e9)  # for epoll itself waits whole milliseconds
                self._take(0)
            publishers[number % len(publishers)].publish_one(now)
            due += gap_ns
        self._settle()
        others = (others_s(self._load.pid) - before) / (time.perf_counter() - began)
        return np.concatenate([each.delays_ns(since) for each in self.subscribers]), max(0.0, others)

    def verify(self) -> None:
        """Every message came, once and in order, and was acknowledged once."""
        for end, _ in self._ends.values():
            end.verify()

    def close(self) -> None:
        """Hang up, and leave no session behind."""
        for end, _ in self._ends.values():
            end.close()
        self._poll.close()
        for number in range(self._load.subscribers if self._load.persistent else 0):
            open_link(self._load.port, b"sub%04d" % number).close()

    def _filter(self, subscriber: int) -> bytes:
        """What it subscribes to."""
        if self._load.publishers == self._load.subscribers:
            return topic_of(subscriber)
        return topic_of(0) if self._load.publishers == 1 else ALL_TOPICS

    def _delivered(self) -> int:
        return sum([flow.delivered for flow in self._flows])

    def _turn_until(self, end: float) -> None:
        while time.perf_counter() < end:
            touched, size_bytes = self._take(STALL_S)
            if not touched:
                raise Lost(f"nothing has come for {STALL_S:g} s; {self._missing()}")
            for flow in touched:
                flow.refill()
            if size_bytes < self._little_bytes:
                time.sleep(NAP_S)

    def _settle(self) -> None:
        while not all(flow.is_settled() for flow in self._flows):
            if not self._take(STALL_S)[0]:
                raise Lost(self._missing())

    def _take(self, patience_s: float) -> tuple[dict[Flow, None], int]:
        """Read and write whatever is ready; returns the flows concerned, and how much was read."""
        touched: dict[Flow, None] = {}
        size_bytes = 0
        for descriptor, what in self._poll.poll(patience_s):
            end, flow = self._ends[descriptor]
            if what & select.EPOLLOUT:
                end.writable()
            if what & ~select.EPOLLOUT:
                size_bytes += end.readable()
            touched[flow] = None
        return touched, size_bytes

    def _missing(self) -> str:
        sent, acked = (sum([getattr(each, what) for each in self.publishers]) for what in ("sent", "acked"))
        due = sent * len(self.subscribers) // len(self._flows)
        return f"{sent} were published, {acked} acknowledged, {self._delivered()} of {due} delivered"


def cpu_s(pid: int) -> float:
    """The processor time that a process has used so far, all its threads together."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def others_s(pid: int) -> float:
    """The processor time that all but this process and the broker have used so far, the machine's other guests too."""
    idle, waiting = (int(ticks) for ticks in Path("/proc/stat").read_text().split()[4:6])  # exact, others are sampled
    used = time.perf_counter() * (os.cpu_count() or 1) - (idle + waiting) / os.sysconf("SC_CLK_TCK")
    return used - cpu_s(pid) - cpu_s(os.getpid())
