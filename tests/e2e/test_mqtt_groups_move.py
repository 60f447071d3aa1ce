"""One of two nodes of a group is killed under load, and its clients go on at the other, with whole sessions.

Everything is on both disks before it is acknowledged (`replicated: 2`), so what was acknowledged is at the other node
before the dead one is back. Of QoS 2, only what docs/mqtt.md says may come twice.
"""

from __future__ import annotations

import signal
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

from tests.live_nodes import GROUP, Home
from tests.mqtt_patience import V4, V5, Changes, Listener, Refuge, Speaker

ROUND = 300
TREES = [{"filter": "#", "group": GROUP, "durability": {"replicated": 2}}]


def twice(listener: Listener, topic: str) -> set[int]:
    """What came more than once."""
    return {number for number, count in Counter(listener.received[topic]).items() if count > 1}


def test_clients_of_a_killed_node_go_on_at_the_other_with_all_of_their_messages(tmp_path: Path) -> None:
    home = Home(tmp_path, "Gate1", "Gate2")
    one, two = home.node(1, 2, trees=TREES), home.node(2, 1, trees=TREES)
    changes = Changes()
    with ExitStack() as stack:
        for node in (one, two):
            stack.enter_context(node.running())
        first, second = Refuge(one.port), Refuge(two.port)
        stays = Listener(first, V5, "stays", changes)
        moves = Listener(second, V5, "moves", changes)
        away = Listener(second, V4, "away", changes)
        listeners = [stays, moves, away]
        speakers = [Speaker(second, V5, 1, changes), Speaker(second, V4, 2, changes)]
        for each in [*listeners, *speakers]:
            stack.callback(each.go_away)

        def heard(numbers: dict[str, set[int]]) -> None:
            for listener in listeners:
                for speaker in speakers:
                    changes.until(lambda of=listener, by=speaker: of.has(by, numbers[by.topic]))  # type: ignore[misc]

        for speaker in speakers:
            speaker.publish(ROUND // 3)
        heard({speaker.topic: set(range(speaker.total)) for speaker in speakers})
        away.go_away()
        for _ in range(10):
            for speaker in speakers:
                speaker.publish(ROUND // 10)
        for speaker in speakers:
            changes.until(lambda speaker=speaker: len(speaker.acknowledged) >= speaker.total - ROUND // 2)  # type: ignore[misc]
        second.lose()
        assert two.end(signal.SIGKILL) == -signal.SIGKILL
        promised = {speaker.topic: set(speaker.acknowledged) for speaker in speakers}
        had = {topic: list(numbers) for topic, numbers in moves.received.items()}
        assert any(len(promised[speaker.topic]) < speaker.total for speaker in speakers), "it was killed under load"

        second.find(one.port)
        away.come_back()
        heard(promised)
        every = {speaker.topic: set(range(speaker.total)) for speaker in speakers}
        heard(every)
        assert (twice(stays, "hall/qos2"), twice(away, "hall/qos2")) == (set(), set()), "exactly once"
        again = twice(moves, "hall/qos2")
        last = had["hall/qos2"][len(had["hall/qos2"]) - len(again) :]
        assert again == set(last), "at most what it acknowledged last, which nobody heard of"

        two.start()
        for speaker in speakers:
            changes.until(lambda speaker=speaker: len(speaker.acknowledged) == speaker.total)  # type: ignore[misc]
        for listener in (stays, away):
            assert twice(listener, "hall/qos2") <= every["hall/qos2"] - promised["hall/qos2"], "nor what was promised"
