"""The configuration: what holds without one, the sample that is shipped, every key, and mistakes with their remedy."""

from __future__ import annotations

import re
from dataclasses import replace
from importlib.resources import files
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.docs.configuration import keys, uncommented

from roost.broker.limits import Limits
from roost.broker.settings import DISCONNECT, DISK, RECEIVED, REPLICATED, BrokerSettings
from roost.errors import BadConfig
from roost.host.mqtt.config import Config, TreeSettings, read_config
from roost.host.mqtt.config_flips import FlipsSettings, IntoGroup, OutOfGroup
from roost.host.mqtt.config_keys import BROKER, BUFFERS, LIMITS, values_of
from roost.host.mqtt.config_web import WebSettings
from roost.host.mqtt.hook import HookSettings
from roost.host.mqtt.link import Bounds
from roost.host.mqtt.listener import ListenerSettings
from roost.host.mqtt.tls import TlsFiles
from roost.naming import Name

HERE, HOME = Path("/etc/roost"), Path("/home/alice/.roost")
SAMPLE = (files("roost.host.mqtt") / "sample.yaml").read_text(encoding="utf-8")


GROUP = "/BigCompany/Building1/Electricity"
FLIPS = FlipsSettings(
    (("127.0.0.1", 9695),),
    (("10.0.0.7", 9695),),
    (IntoGroup("home/temp", GROUP, "Heater/Temp", "Cel", "Gate2", verify=True),),
    (OutOfGroup(GROUP, "Panel1/Heater/Voltage", "home/voltage", interval_s=10),),
    Name.parse("/BigCompany/Building1"),
)


def read(**said: Any) -> Config:  # noqa: ANN401  as YAML has it
    return read_config(said, HERE, HOME)


def test_without_a_file_it_listens_on_this_machine_and_keeps_its_sessions_at_home() -> None:
    config = read()
    assert config.listeners == (ListenerSettings("tcp", "127.0.0.1", 1883),)
    assert config.store == HOME / "mqtt"
    assert config.broker == BrokerSettings(persistent=True, durability=DISK)
    assert config.bounds == Bounds()
    assert values_of(config.limits) == values_of(Limits())
    assert (config.users, config.permissions, config.trees) == (None, None, ())


def test_the_sample_says_what_holds_anyway_and_has_every_key() -> None:
    said = yaml.safe_load(SAMPLE)
    sample, bare = read(**said), read()
    assert (sample.listeners, sample.store, sample.broker, sample.bounds) == (
        bare.listeners,
        bare.store,
        bare.broker,
        bare.bounds,
    )
    assert values_of(sample.limits) == values_of(bare.limits)
    for section, known in {**BROKER, "limits": LIMITS, "buffers": BUFFERS}.items():
        assert set(known) - set(said[section]) <= {"response_prefix", "server_reference"}, section
    whole = read(**yaml.safe_load(uncommented(SAMPLE)))
    assert [listener.transport for listener in whole.listeners] == ["tcp", "tls", "ws", "wss"]
    assert whole.listeners[1].tls == TlsFiles(
        HERE / "server.pem", HERE / "server.key", HERE / "clients-ca.pem", require=True
    )
    assert whole.trees[1:] == (
        TreeSettings("annex/#", REPLICATED, 2, "/BigCompany/Building1/Electricity"),
        TreeSettings("scratch/#", RECEIVED),
    )
    assert [str(each.panel.name) for each in whole.groups] == ["/BigCompany/Building1/Electricity/Gate1"]
    assert (whole.node.listen.tcp, whole.node.uplinks) == ((("127.0.0.1", 6363),), ("tcp4://10.0.0.6:6363",))
    assert whole.store == Path("/var/lib/roost/mqtt")
    assert whole.users == HERE / "users"
    assert whole.hook == HookSettings(HERE / "house_auth.py", "make")
    assert (whole.name, whole.flips) == ("hall", FLIPS)
    assert whole.web == WebSettings(HERE / "tokens", otlp="http://127.0.0.1:4318")
    assert bare.web == replace(whole.web, tokens=HOME / "tokens", otlp=None)
    assert whole.roles is not None
    assert whole.macros is not None
    assert whole.http is not None
    assert whole.http.tls is not None


PARTS = (
    *("", "http", "log", "tracing", "trees[]", "groups[]", "node", "roles", "macros", "flips", "flips.into[]"),
    *("flips.out[]", "authentication", "limits", "buffers", *BROKER),
)


def within(part: str, said: dict[str, Any]) -> dict[str, Any]:
    for step in reversed(part.split(".") if part else ()):
        said = {step.removesuffix("[]"): [said] if step.endswith("[]") else said}
    return said


@pytest.mark.parametrize("part", PARTS)
def test_the_sample_has_exactly_the_keys_that_are_read(part: str) -> None:
    with pytest.raises(BadConfig, match="there is no such key; there are ") as caught:
        read(**within(part, {"qqqq": 1}))
    known = set(str(caught.value).partition("there are ")[2].split(", "))
    if part == "http":
        assert known == set(yaml.safe_load(re.findall(r"^# http: ({.*?})", SAMPLE, re.MULTILINE)[0]))
        return
    paths = [
        key.path.removeprefix(f"{part}.") for key in keys(SAMPLE) if key.path.startswith(f"{part}." if part else "")
    ]
    assert known == {path for path in paths if "." not in path and "[" not in path}


def test_every_key_says_what_it_is() -> None:
    first = {key.path: key for key in reversed(keys(SAMPLE))}
    assert [path for path, key in first.items() if not key.meaning] == []


def test_values_may_have_units() -> None:
    config = read(
        packets={"max_bytes": "2MB"},
        sessions={"max_expiry": "2 w", "connect_timeout": 5},
        queues={"overflow": "disconnect", "high_water": "64KiB", "qos0": True},
        limits={"connections": 5, "bytes_per_s": "1MiB"},
        buffers={"link_bytes": 3_000_000},
    )
    assert config.broker.max_packet_bytes == 2_000_000
    assert config.broker.max_session_expiry_s == 14 * 86_400
    assert config.broker.overflow == DISCONNECT
    assert config.broker.queue_qos0
    assert config.limits.bytes_per_s == 1 << 20
    assert config.bounds.max_links == 5
    assert (config.bounds.high_water_bytes, config.bounds.low_water_bytes) == (65_536, 16_384)
    assert config.bounds.max_link_bytes == 3_000_000
    assert config.bounds.greeting_timeout == 5_000_000_000


def test_packet_sizes_may_differ_by_user_and_network() -> None:
    limits = read(
        limits={
            "packet_bytes": "4KiB",
            "user_packet_bytes": {"camera": "512KiB", "ädil": 0},
            "address_packet_bytes": 0,
            "network_packet_bytes": {"10.1.0.0/16": "2KiB", "2001:db8::/32": 1024},
        }
    ).limits
    assert (limits.packet_bytes, limits.address_packet_bytes) == (4096, 0)
    assert limits.user_packet_bytes == {b"camera": 512 << 10, "ädil".encode(): 0}
    assert limits.network_packet_bytes == {ip_network("10.1.0.0/16"): 2048, ip_network("2001:db8::/32"): 1024}


def test_a_hook_is_in_a_file_beside_the_configuration_or_in_a_module() -> None:
    assert read(authentication={"hook": "auth/house.py:make"}).hook == HookSettings(HERE / "auth/house.py", "make")
    assert read(authentication={"hook": "/srv/house.py:make"}).hook == HookSettings(Path("/srv/house.py"), "make")
    assert read(authentication={"hook": "company.auth:make"}).hook == HookSettings("company.auth", "make")
    assert read(authentication={}).hook is None


def test_in_memory_there_is_nothing_to_keep() -> None:
    config = read(store="memory")
    assert config.store is None
    assert not config.broker.persistent


def test_trees_are_told_to_the_broker_in_their_order() -> None:
    config = read(trees=[{"filter": "a/#", "durability": "received"}, {"filter": "#"}], durability="received")
    assert config.broker.durability == RECEIVED
    assert config.broker.durable == ((b"a/#", RECEIVED), (b"#", DISK))


def test_with_permissions_others_may_reach_it() -> None:
    config = read(listeners=[{"tcp": "0.0.0.0:1883"}], users="users", permissions="permissions")
    assert config.listeners[0].host == "0.0.0.0"
    assert read(listeners=[{"tcp": "[::1]:1884"}, {"tcp": "localhost"}]).listeners[1].port == 1883


@pytest.mark.parametrize("transport", ["tcp", "tls", "ws", "wss"])
def test_a_listener_may_be_behind_a_proxy(transport: str) -> None:
    files = {"certificate": "c.pem", "key": "k.pem"} if transport in {"tls", "wss"} else {}
    at = {transport: "127.0.0.1:1"} | files
    proxied, plain = read(listeners=[at | {"behind_proxy": True}, at], permissions="permissions").listeners
    assert (proxied.behind_proxy, plain.behind_proxy) == (True, False)


TLS = {"tls": "127.0.0.1:8883", "certificate": "c.pem", "key": "k.pem"}


@pytest.mark.parametrize(
    ("said", "complaint"),
    [
        ({"listener": []}, "listener: there is no such key; perhaps you mean listeners"),
        ({"xyz": []}, "xyz: there is no such key; there are listeners, store"),
        ({"listeners": []}, "listeners: there is none, so nobody could connect"),
        (
            {"listeners": "127.0.0.1:1883"},
            "listeners: '127.0.0.1:1883' is no list; begin each of its entries with `- `",
        ),
        ({"listeners": ["127.0.0.1"]}, r"listeners\[0\]: '127.0.0.1' has no keys"),
        ({"listeners": [{"udp": "1"}]}, r"listeners\[0\]: one of tcp, tls, ws, wss says where to listen"),
        ({"listeners": [{"tcp": "a:b"}]}, r"listeners\[0\].tcp: 'a:b' is not an address"),
        ({"listeners": [{"tcp": 1883}]}, r"^listeners\[0\].tcp: 1883 is no address; write host:port, as in 127"),
        ({"listeners": [{"ws": "127.0.0.1:188840"}]}, r"^listeners\[0\].ws: '127.0.0.1:188840': a port is 1 to 65535$"),
        ({"node": {"tcp": [6363]}}, r"^node.tcp\[0\]: 6363 is no address; write host:port, as in 127.0.0.1:6363$"),
        ({"node": {"udp": ["[::1]:99999"]}}, r"^node.udp\[0\]: '\[::1\]:99999': a port is 1 to 65535$"),
        ({"node": {"ws": ["a:b"]}}, r"^node.ws\[0\]: 'a:b' is not an address to listen on: write host:port"),
        ({"listeners": [{"tcp": ":1", "key": "x"}]}, r"listeners\[0\].key: there is no such key; there are tcp"),
        ({"listeners": [{"tls": ":1", "key": "x"}]}, r"listeners\[0\].certificate: TLS needs one"),
        ({"listeners": [TLS | {"require_certificate": True}]}, r"listeners\[0\].clients: .* name a file"),
        ({"listeners": [TLS | {"user_from": "OU"}]}, r"listeners\[0\].user_from: 'OU' is none of CN, DNS"),
        ({"listeners": [{"tcp": "0.0.0.0:1883"}]}, "can be reached from other machines, .*`roost users add"),
        ({"listeners": [{"tcp": ":1", "behind_proxy": "x"}]}, r"^listeners\[0\].behind_proxy: 'x' is neither true nor"),
        (
            {"listeners": [{"tcp": ":1"}, {"ws": ":2", "behind_proxy": True}]},
            r"^listeners\[1\].behind_proxy: who comes by way of a proxy is not on this machine, .*`roost users add",
        ),
        ({"durability": "safe"}, "durability: 'safe' is none of received, disk"),
        ({"trees": [{"durability": "disk"}]}, r"trees\[0\].filter: it is missing"),
        ({"trees": [{"filter": "a/#/b"}]}, r"trees\[0\].filter: 'a/#/b' is no topic filter"),
        ({"trees": [{"filter": "a#b"}]}, r"'a#b' is no topic filter \('#' stands alone in the last level\); write one"),
        ({"trees": [{"filter": "#", "durability": {"replicated": 2}}]}, r"only a tree with a group has replicas"),
        (
            {"trees": [{"filter": "#", "group": "/A/B", "durability": "received"}]},
            r"^trees\[0\].durability: a message of a group is .* write disk or `replicated: 2`, or leave out the group",
        ),
        ({"trees": [{"filter": "#", "group": "abc"}]}, r"trees\[0\].group: a name starts with '/', 'abc' does not"),
        ({"trees": [{"filter": "#", "durability": 7}]}, "7 is none of received, disk and `replicated: 2`"),
        ({"limits": {"connections": 0}}, "limits.connections: 0 is no number from 1 to"),
        ({"limits": {"connections": True}}, "limits.connections: True is no number"),
        ({"limits": {"speed": 1}}, "limits.speed: there is no such key; there are connections, "),
        ({"limits": {"packet_bytes": 1023}}, "limits.packet_bytes: 1023 is not from 1024 to"),
        ({"limits": {"packet_bytes": False}}, "limits.packet_bytes: False is no size"),
        ({"limits": {"user_packet_bytes": 5}}, "limits.user_packet_bytes: 5 has no keys"),
        ({"limits": {"user_packet_bytes": {"a": "big"}}}, "limits.user_packet_bytes.a: 'big' is no size"),
        ({"limits": {"user_packet_bytes": {" a": 0}}}, "limits.user_packet_bytes: ' a' is no name for a user"),
        ({"limits": {"network_packet_bytes": {"10.1.2.3/16": 0}}}, r"network_packet_bytes.10.1.2.3/16: .*10.1.0.0/16"),
        ({"limits": {"network_packet_bytes": {"127.0.0.0/8": 0}}}, r"127.0.0.0/8: this machine has no limits"),
        (
            {"limits": {"network_packet_bytes": {f"10.{number}.0.0/16": 0 for number in range(257)}}},
            "limits.network_packet_bytes: there are 257 lines, 256 are the limit",
        ),
        ({"authentication": {"hooks": "a:b"}}, "authentication.hooks: there is no such key; perhaps you mean hook"),
        ({"authentication": {"hook": "a.py"}}, "authentication.hook: 'a.py' is not of the form FILE.py:NAME"),
        ({"authentication": {"hook": "a.py:1"}}, "authentication.hook: 'a.py:1' is not of the form"),
        ({"authentication": {"hook": 7}}, "authentication.hook: 7 is no text"),
        ({"packets": {"max_bytes": "1 TB"}}, "packets.max_bytes: '1 TB' is no size: write bytes"),
        ({"packets": {"max_bytes": "1GiB"}}, "packets.max_bytes: '1GiB' is not from 1024 to"),
        ({"sessions": {"max_expiry": "soon"}}, "sessions.max_expiry: 'soon' is no time: write seconds"),
        ({"queues": {"overflow": "explode"}}, "queues.overflow: 'explode' is none of drop-oldest, drop-newest"),
        ({"queues": {"qos0": "yes"}}, "queues.qos0: 'yes' is neither true nor false"),
        ({"queues": [1]}, r"queues: \[1\] has no keys"),
        ({"memory": {"wills": "much"}}, "memory.wills: 'much' is no size"),
        (
            {"packets": {"max_bytes": "20MiB"}},
            r"queues.bytes: 16777216 bytes are too few .* make queues.bytes at least 20971776, or packets.max_bytes sm",
        ),
        ({"queues": {"total_bytes": "1MiB"}}, "queues.total_bytes: 1048576 bytes are too few .* at least 1048832"),
        ({"memory": {"connections": "64KiB"}}, "memory.connections: 65536 bytes are too few .* at least 1048576"),
        (
            {"packets": {"max_bytes": "70MiB"}, "queues": {"bytes": "80MiB"}},
            "buffers.link_bytes: .* packets.max_bytes and queues.high_water.* at least",
        ),
        ({"buffers": {"total_bytes": "2MiB"}}, "buffers.total_bytes: 2097152 bytes are too few"),
        ({"store": ["a"]}, r"store: \['a'\] is no text"),
    ],
)
def test_a_mistake_names_the_key_and_what_to_write(said: dict[str, object], complaint: str) -> None:
    with pytest.raises(BadConfig, match=complaint):
        read(**said)
