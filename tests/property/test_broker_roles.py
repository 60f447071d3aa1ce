"""Whatever is published, subscribed to, answered and changed: nobody gets what its roles do not permit at that time."""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import given, settings
from hypothesis import strategies as st
from tests import broker_packets as packets
from tests.broker_world import Client, World
from tests.roles_world import enter, house, messages

from roost.broker.roles.sources import FileRoles
from roost.process.roles.specification import Specification

USERS = ("cid", "ada")
ROLES = ("developer", "customer", "analyst", "visitor", "stranger")
VAGUE = "{topic}/anonymize"

# what each role may see, and gets, of home/+ and (when it is there) of home/attic: written down a second time, as the
# documents below and as this table, which knows nothing of policies
SEES: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "home/+": {"developer": ("raw", VAGUE), "customer": (VAGUE,), "analyst": (VAGUE, "raw"), "visitor": ()},
    "home/attic": {"developer": ("raw",), "customer": ("raw",)},
}
TOPICS = ("home/hall", "home/attic", "garden")
RESULTS = ("Noctua/home/hall/anonymize", "Noctua/home/attic/anonymize", "Noctua/open")
FILTERS = (
    *TOPICS,
    *RESULTS,
    *("#", "home/+", "home/#", "Noctua/#", "+/+/+/anonymize", "$raw/home/attic", "$raw/#", "$share/g/home/+"),
)
ACTIONS = st.lists(
    st.one_of(
        st.tuples(st.just("publish"), st.sampled_from(TOPICS + RESULTS), st.booleans()),
        st.tuples(st.just("subscribe"), st.sampled_from(USERS), st.sampled_from(FILTERS)),
        st.tuples(st.just("unsubscribe"), st.sampled_from(USERS), st.sampled_from(FILTERS)),
        st.tuples(st.just("role"), st.sampled_from(USERS), st.sampled_from(ROLES)),
        st.tuples(st.just("answer"), st.sampled_from(ROLES), st.booleans()),
        st.tuples(st.just("override"), st.just(""), st.booleans()),
        st.tuples(st.just("wait"), st.just(""), st.booleans()),
    ),
    min_size=4,
    max_size=40,
)


def document(topic: str) -> Specification:
    rows = {
        role: {"streams": list(streams), **({"default": streams[0]} if streams else {})}
        for role, streams in SEES[topic].items()
    }
    return Specification.read({"topic": topic, "roles": rows})


def permitted(topic: str, role: str | None, *, overridden: bool) -> bool:
    """Whether a role may see what is published on a topic."""
    if topic in {"garden", "Noctua/open"}:
        return True
    raw = topic.removeprefix("Noctua/").removesuffix("/anonymize")
    table = SEES["home/attic" if raw == "home/attic" and overridden else "home/+"]
    return role is not None and ("raw" if raw == topic else VAGUE) in table.get(role, ())


class House:
    """A broker, its users, and what is true of them."""

    def __init__(self, *, is_looked_up: bool) -> None:
        self.roles: dict[str, str | None] = dict.fromkeys(USERS, None if is_looked_up else "customer")
        self.is_looked_up = is_looked_up
        self.overridden = False
        documents = document("home/+").mapping()
        self.world: World = house(documents, source=None if is_looked_up else self.source())
        self.clients: dict[str, Client] = {user: enter(self.world, user) for user in USERS}
        self.sensor = self.world.connect(b"sensor")
        self.count = 0

    def source(self) -> FileRoles:
        return FileRoles({user: frozenset({role}) for user, role in self.roles.items() if role is not None})

    def do(self, action: tuple[str, str, object]) -> None:
        kind, what, how = action
        world, broker = self.world, self.world.broker
        if kind == "publish":
            self.count += 1
            self.sensor.publish(what.encode(), f"{what} {self.count}".encode(), retain=bool(how))
        elif kind == "subscribe":
            self.clients[what].send(packets.subscribe(1, str(how).encode(), version=5))
        elif kind == "unsubscribe":
            self.clients[what].send(packets.unsubscribe(1, str(how).encode(), version=5))
        elif kind == "role" and self.is_looked_up:
            world.run(broker.roles_changed(what, world.now))
        elif kind == "role":
            self.roles[what] = str(how)
            base = [document("home/+"), *([document("home/attic")] if self.overridden else [])]
            world.run(broker.roles_reloaded(base, self.source(), world.now))
        elif kind == "answer" and world.looked_up:
            self.roles[world.looked_up[0].user] = what if how else None
            world.answer(*([what] if how else []), why="" if how else "down")
        elif kind == "override":
            self.overridden = bool(how)
            world.run(broker.document_changed("home/attic", document("home/attic") if how else None, world.now))
        elif kind == "wait":
            world.settle()

    def check(self) -> None:
        for user, client in self.clients.items():
            for message in messages(client):
                topic = message.payload.decode().split(" ")[0]
                assert permitted(topic, self.roles[user], overridden=self.overridden), (user, message)


@settings(max_examples=150, deadline=None)
@given(actions=ACTIONS, is_looked_up=st.booleans())
def test_nobody_gets_what_its_roles_do_not_permit(actions: list[tuple[str, str, object]], is_looked_up: bool) -> None:
    street = House(is_looked_up=is_looked_up)
    for action in actions:
        street.do(action)
        street.check()


@settings(max_examples=60, deadline=None)
@given(before=st.lists(st.integers(0, 5), max_size=20), after=st.integers(0, 5), role=st.sampled_from(ROLES[:3]))
def test_nothing_of_the_default_stream_is_lost_whenever_the_answer_comes(
    before: list[int], after: int, role: str
) -> None:
    place = House(is_looked_up=True)
    cid = place.clients["cid"]
    cid.send(packets.subscribe(1, b"home/hall", version=5))
    default = "home/hall" if role == "developer" else RESULTS[0]
    wanted = [place_of(place, number, default) for number in before]
    place.do(("answer", role, True))
    wanted += [place_of(place, number, default) for number in range(after)]
    came = [(each.topic, each.payload) for each in messages(cid)]
    assert came == [(b"home/hall", payload) for payload in wanted if payload]


def place_of(place: House, number: int, default: str) -> bytes:
    """Publish on one of the topics; the payload if it is the default stream."""
    topic = (TOPICS + RESULTS)[number]
    place.do(("publish", topic, False))
    return f"{topic} {place.count}".encode() if topic == default else b""
