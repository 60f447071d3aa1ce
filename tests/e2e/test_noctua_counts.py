"""How many PUBLISH packets the first result takes, on real sockets: the counts of Noctua's figures 10, 13 and 14.

The weighted moving average of figure 9, generalised to S sensors, for U subscribers, in three ways: every subscriber
takes what sensors say and computes; a service computes and publishes; the node computes. All at QoS 0, as in the paper.
A packet counts at each end of the node, when a client has sent it and when a client has it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AsyncExitStack

import pytest
from tests.live_nodes import Home, LiveNode
from tests.loops import run
from tests.mqtt_wire import Wire, wire

VALUES = 3  # that the average takes of each sensor
FIGURE_10 = [(3, 1, 18, 20, 10)]
FIGURE_13 = [(3, 1, 18, 20, 10), (10, 1, 60, 62, 31), (20, 1, 120, 122, 61), (50, 1, 300, 302, 151)]
FIGURE_13 += [(100, 1, 600, 602, 301)]
FIGURE_14 = [(50, 1, 300, 302, 151), (50, 10, 1650, 311, 160), (50, 20, 3150, 321, 170), (50, 50, 7650, 351, 200)]
FIGURE_14 += [(50, 100, 15_150, 401, 250)]
MACRO = """function() {
  var temps = %s.map(topic => Noctua.topic(topic, { required: 3 }));
  var weights = [3, 2, 1];
  var denom = weights.reduce((a, b) => a + b, 0);
  var avg = 0;
  for (var i = 0; i < temps.length; ++i) {
    var weighted_sum = 0;
    for (var j = 0; j < weights.length; ++j) {
      weighted_sum += temps[i][j] * weights[j];
    }
    avg += weighted_sum/denom;
  }
  return avg/temps.length;
}()"""


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveNode]:
    with Home(tmp_path_factory.mktemp("noctua")).node(store="memory").running() as running:
        yield running


def reading(sensor: int, turn: int) -> str:
    return f"{sensor + turn * turn}.5"


def average(received: dict[str, list[float]]) -> str:
    """What the macro gives, worked out by a client."""
    means = [(3 * newest + 2 * before + first) / 6 for first, before, newest in received.values()]
    return f"{sum(means) / len(means):g}"


def computed(client: Wire, sensors: int) -> str | None:
    """The average of all readings that a client has, if there are enough."""
    received: dict[str, list[float]] = {}
    for packet in client.got:
        received.setdefault(packet.topic.decode(), []).append(float(packet.payload))
    if len(received) < sensors or min(map(len, received.values())) < VALUES:
        return None
    return average(received)


class Room:
    """Sensors, subscribers and a service, each with a connection of its own."""

    def __init__(self, node: LiveNode, sensors: int, subscribers: int) -> None:
        self.node = node
        self.count = sensors
        self.audience = subscribers
        self.expected = average(
            {str(each): [float(reading(each, turn)) for turn in range(3)] for each in range(sensors)}
        )

    async def enter(self, stack: AsyncExitStack) -> None:
        self.sensors = [await stack.enter_async_context(wire(self.node.port)) for _ in range(self.count)]
        self.subscribers = [await stack.enter_async_context(wire(self.node.port)) for _ in range(self.audience)]
        self.service = await stack.enter_async_context(wire(self.node.port))

    @property
    def clients(self) -> list[Wire]:
        return [*self.sensors, *self.subscribers, self.service]

    def topics(self, of: str) -> list[str]:
        return [f"{of}{self.count}x{self.audience}/{number}/temp" for number in range(self.count)]

    def speak(self, of: str, turns: range) -> None:
        """All sensors say their next values."""
        for turn in turns:
            for number, topic in enumerate(self.topics(of)):
                self.sensors[number].publish(topic, reading(number, turn))

    async def counted(self) -> int:
        """The packets since the last count, once everything has arrived."""
        for client in self.sensors:  # what they said is processed
            await client.settle()
        for client in [self.service, *self.subscribers]:
            await client.settle()
        total = sum(client.sent + len(client.got) for client in self.clients)
        for client in self.clients:
            client.sent = 0
            client.got.clear()
        return total


async def local(room: Room) -> int:
    for subscriber in room.subscribers:
        await subscriber.subscribe(*room.topics("local"))
    room.speak("local", range(VALUES))
    for subscriber in room.subscribers:
        await subscriber.until(lambda subscriber=subscriber: computed(subscriber, room.count) is not None)  # type: ignore[misc]
        assert computed(subscriber, room.count) == room.expected
    return await room.counted()


async def service(room: Room) -> int:
    result = f"service{room.count}x{room.audience}"
    await room.service.subscribe(*room.topics("service"))
    for subscriber in room.subscribers:
        await subscriber.subscribe(result)
    room.speak("service", range(VALUES))
    await room.service.until(lambda: computed(room.service, room.count) is not None)
    room.service.publish(result, computed(room.service, room.count) or "")
    for subscriber in room.subscribers:
        await subscriber.until(lambda subscriber=subscriber: bool(subscriber.got))  # type: ignore[misc]
        assert subscriber.payloads == [room.expected]
    return await room.counted()


async def noctua(room: Room) -> int:
    name = f"average{room.count}x{room.audience}"
    room.node.put(name, MACRO % room.topics("noctua"))
    for subscriber in room.subscribers:
        await subscriber.subscribe(f"Noctua/{name}")
    room.speak("noctua", range(VALUES))
    for subscriber in room.subscribers:
        await subscriber.until(lambda subscriber=subscriber: bool(subscriber.got))  # type: ignore[misc]
        assert [f"{float(each):g}" for each in subscriber.payloads] == [room.expected]
    return await room.counted()


@pytest.mark.parametrize(
    ("sensors", "subscribers", "locally", "with_service", "at_node"), sorted({*FIGURE_10, *FIGURE_13, *FIGURE_14})
)
def test_the_first_result_takes_as_many_packets_as_the_paper_says(
    node: LiveNode, sensors: int, subscribers: int, locally: int, with_service: int, at_node: int
) -> None:
    async def test() -> None:
        room = Room(node, sensors, subscribers)
        async with AsyncExitStack() as stack:
            await room.enter(stack)
            assert await local(room) == locally == VALUES * sensors * (1 + subscribers)
            assert await service(room) == with_service == 2 * VALUES * sensors + 1 + subscribers
            assert await noctua(room) == at_node == VALUES * sensors + subscribers

    run(test)


def test_a_round_of_readings_gives_a_result_for_each_of_them_or_one_for_the_set(node: LiveNode) -> None:
    sensors, subscribers = 10, 2

    async def test() -> None:
        for trigger, results in (("arrival", sensors), ("set", 1)):
            room = Room(node, sensors, subscribers)
            node.put(trigger, MACRO % room.topics(trigger), trigger=trigger)
            async with AsyncExitStack() as stack:
                await room.enter(stack)
                for subscriber in room.subscribers:
                    await subscriber.subscribe(f"Noctua/{trigger}")
                room.speak(trigger, range(VALUES))
                assert await room.counted() == VALUES * sensors + subscribers, "the first result"
                for turn in range(VALUES, VALUES + 3):
                    room.speak(trigger, range(turn, turn + 1))
                    assert await room.counted() == sensors + results * subscribers

    run(test)
