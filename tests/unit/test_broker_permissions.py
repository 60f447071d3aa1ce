"""The permissions file: what is granted, what is denied, and how mistakes are told."""

from pathlib import Path

import pytest

from roost.broker.access import ANONYMOUS, NOTHING, PART, WHOLE
from roost.broker.permissions import MAX_LINES, Permissions
from roost.errors import BadConfig

PLANT = """
# comments begin a line
all
  readwrite  home/%u/#
  write      devices/%c/state
  read       news

anonymous
  read       public/#

group operators
  member     alice
  member     Bob the Builder
  readwrite  plant/#
  deny write plant/safety/#
  deny       plant/keys

user bob
  read       plant/+/temperature
  read       $SYS/#
user bob
  deny read  plant/secret/temperature
"""


@pytest.fixture(scope="module")
def plant() -> Permissions:
    return Permissions.parse(PLANT)


def test_an_empty_file_denies_everything() -> None:
    empty = Permissions.parse("")
    assert empty.may_connect(b"alice", loopback=False)
    assert not empty.may_publish(b"alice", b"c", b"a")
    assert not empty.may_receive(b"alice", b"c", b"a")
    assert empty.reach(b"alice", b"c", b"#") == NOTHING


@pytest.mark.parametrize(
    ("user", "client", "topic", "publish", "receive"),
    [
        (b"alice", b"c", b"home/alice", True, True),  # a/# matches a [MQTT-4.7.1-2]
        (b"alice", b"c", b"home/alice/lamp", True, True),
        (b"alice", b"c", b"home/bob/lamp", False, False),
        (b"alice", b"c", b"plant/pump", True, True),
        (b"Bob the Builder", b"c", b"plant/pump", True, True),
        (b"bob", b"c", b"plant/pump", False, False),
        (b"alice", b"c", b"plant/safety/valve", False, True),
        (b"alice", b"c", b"plant/keys", False, False),
        (b"bob", b"c", b"plant/pump/temperature", False, True),
        (b"bob", b"c", b"plant/secret/temperature", False, False),
        (b"bob", b"c", b"news", False, True),
        (b"bob", b"c", b"$SYS/broker/uptime", False, True),
        (b"alice", b"c", b"$SYS/broker/uptime", False, False),
        (b"alice", b"sensor7", b"devices/sensor7/state", True, False),
        (b"alice", b"sensor7", b"devices/sensor8/state", False, False),
        (ANONYMOUS, b"c", b"public/x", False, True),
        (ANONYMOUS, b"c", b"news", False, False),
        (ANONYMOUS, b"c", b"home//lamp", False, False),
        (b"alice", b"c", b"public/x", False, False),
    ],
)
def test_who_may_do_what(
    plant: Permissions, user: bytes, client: bytes, topic: bytes, publish: bool, receive: bool
) -> None:
    assert plant.may_publish(user, client, topic) is publish
    assert plant.may_receive(user, client, topic) is receive


@pytest.mark.parametrize(
    ("user", "wanted", "reach"),
    [
        (b"alice", b"home/alice/#", WHOLE),
        (b"alice", b"home/alice/+/x", WHOLE),
        (b"alice", b"home/#", PART),
        (b"alice", b"#", PART),
        (b"alice", b"plant/#", PART),  # because of plant/keys
        (b"alice", b"plant/keys", NOTHING),
        (b"alice", b"plant/+/x", WHOLE),
        (b"alice", b"home/bob/#", NOTHING),
        (b"alice", b"$SYS/#", NOTHING),
        (b"bob", b"$SYS/#", WHOLE),
        (b"bob", b"plant/+/temperature", PART),
        (b"bob", b"plant/secret/temperature", NOTHING),
        (ANONYMOUS, b"public/#", WHOLE),
        (ANONYMOUS, b"+/x", PART),
        (ANONYMOUS, b"home/+/lamp", NOTHING),
    ],
)
def test_how_far_a_filter_reaches(plant: Permissions, user: bytes, wanted: bytes, reach: int) -> None:
    assert plant.reach(user, b"c", wanted) == reach


def test_a_wildcard_grant_does_not_open_the_brokers_own_topics() -> None:
    everything = Permissions.parse("all\nreadwrite #\nread +/broker/uptime")
    assert everything.may_publish(b"u", b"c", b"a/b")
    assert not everything.may_publish(b"u", b"c", b"$SYS/broker/uptime")
    assert not everything.may_receive(b"u", b"c", b"$SYS/broker/uptime")
    assert everything.reach(b"u", b"c", b"$SYS/#") == NOTHING
    assert everything.reach(b"u", b"c", b"#") == WHOLE


@pytest.mark.parametrize("order", [1, -1])
def test_a_deny_wins_wherever_it_stands(order: int) -> None:
    sections = ["user alice\nreadwrite a/b", "all\ndeny a/#", "group g\nmember alice\nreadwrite #"][::order]
    permissions = Permissions.parse("\n".join(sections))
    assert not permissions.may_publish(b"alice", b"c", b"a/b")
    assert not permissions.may_receive(b"alice", b"c", b"a/b")
    assert permissions.may_publish(b"alice", b"c", b"b")
    assert permissions.reach(b"alice", b"c", b"#") == PART
    assert permissions.reach(b"alice", b"c", b"b/#") == WHOLE


@pytest.mark.parametrize("client", [b"", b"+", b"#", b"a/b", b"/", b"a\0b", b"$SYS"])
def test_a_client_id_that_is_no_single_level_gets_nothing(client: bytes) -> None:
    permissions = Permissions.parse("all\nreadwrite %c/#\n")
    for topic in (b"a", b"a/b", b"/", b"$SYS/x", b"x/y", client or b"x"):
        assert not permissions.may_publish(b"u", client, topic)
    assert permissions.reach(b"u", client, b"#") == NOTHING
    assert permissions.reach(b"u", client, b"$SYS/#") == NOTHING


def test_a_variable_within_a_level_and_a_percent_sign() -> None:
    permissions = Permissions.parse("all\nwrite dev-%c.json/100%%\n")
    assert permissions.may_publish(b"u", b"7", b"dev-7.json/100%")
    assert permissions.may_publish(b"u", b"%u", b"dev-%u.json/100%")
    assert not permissions.may_publish(b"u", b"%u", b"dev-u.json/100%")
    assert not permissions.may_publish(b"u", b"7", b"dev-.json/100%")


def test_a_dollar_within_the_first_level_is_no_matter() -> None:
    permissions = Permissions.parse("all\nread x%c\n")
    assert permissions.may_receive(b"u", b"$1", b"x$1")


def test_the_anonymous_come_from_this_machine_and_only_if_the_file_knows_them() -> None:
    assert not Permissions.parse("all\nread #").may_connect(ANONYMOUS, loopback=True)
    some = Permissions.parse("anonymous")
    assert some.may_connect(ANONYMOUS, loopback=True)
    assert not some.may_connect(ANONYMOUS, loopback=False)


def test_topics_and_names_may_hold_spaces_and_letters_of_the_world() -> None:
    permissions = Permissions.parse("user José García\n\tread  Küche/heißes Wasser  \r\n")
    assert permissions.may_receive("José García".encode(), b"c", "Küche/heißes Wasser".encode())


def test_every_user_that_is_named_is_known_with_the_line() -> None:
    assert dict(Permissions.parse(PLANT).lines_of) == {b"alice": 12, b"Bob the Builder": 13, b"bob": 18}


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("all\n  raed x", 2, "'raed' begins no line; write a section"),
        ("\n\nread x", 3, "write before it: all, or user NAME"),
        ("user", 1, "write user NAME"),
        ("group   ", 1, "write group NAME"),
        ("all read x", 1, "nothing follows 'all'"),
        ("anonymous x", 1, "nothing follows 'anonymous'"),
        ("all\nmember alice", 2, "only a group has members"),
        ("group g\nmember", 2, "write member NAME"),
        ("all\nread", 2, "there is no topic pattern"),
        ("all\ndeny", 2, "there is no topic pattern"),
        ("all\nread a/#/b", 2, "'#' stands alone in the last level"),
        ("all\nread a#", 2, "'#' stands alone in the last level"),
        ("all\nread #/#", 2, "'#' stands alone in the last level"),
        ("all\nread a/b+", 2, "'+' stands alone in its level"),
        ("all\nread %u%c", 2, "put a / between them"),
        ("all\nread %c-%c", 2, "put a / between them"),
        ("all\nread a/%d", 2, "'%' is followed by u"),
        ("all\nread a/50%", 2, "'%' is followed by u"),
        ("all\nread $%c/x", 2, "begins with '$' has no variable"),
        ("all\nread a\0b", 2, "holds a NUL"),
        ("all\ndeny write a/%c", 2, "a deny has no %u or %c"),
        ("all\nread " + "a/" * 128 + "a", 2, "129 levels"),
        ("#\n" * MAX_LINES, MAX_LINES + 1, "at most"),
    ],
)
def test_a_mistake_is_told_with_its_line_and_what_to_write(text: str, line: int, says: str) -> None:
    with pytest.raises(BadConfig) as caught:
        Permissions.parse(text)
    assert str(caught.value).startswith(f"line {line}: ")
    assert says in str(caught.value)


def test_the_example_of_the_page_means_what_the_page_says() -> None:
    page = (Path(__file__).parents[2] / "docs" / "mqtt-security.md").read_text(encoding="utf-8")
    permissions = Permissions.parse(page.partition("```permissions\n")[2].partition("```")[0])
    for topic in (b"home/alice/lamp", b"news/today", b"plant/pumps/7/set", b"plant/safety/valve"):
        assert permissions.may_receive(b"alice", b"c", topic)
    assert permissions.reach(b"alice", b"c", b"#") == PART
    assert not permissions.may_publish(b"bob", b"c", b"plant/safety/valve")
    assert permissions.may_publish(b"pump-7", b"c", b"plant/pumps/7/speed")
    assert not permissions.may_publish(b"pump-7", b"c", b"plant/pumps/8/speed")
    assert permissions.may_receive(b"monitor", b"c", b"$SYS/broker/uptime")
    assert permissions.may_connect(ANONYMOUS, loopback=True)
