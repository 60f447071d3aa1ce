"""`roost pub` and `roost sub` for MQTT, as far as no server is needed: their letters, and what they ask for."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from paho.mqtt.client import MQTTMessage
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.reasoncodes import ReasonCode
from paho.mqtt.subscribeoptions import SubscribeOptions

from roost.cli import _parser, main
from roost.cli._mqtt_client import MqttClient
from roost.cli._mqtt_properties import properties_of
from roost.cli._mqtt_server import server_of
from roost.cli._mqtt_sub import COMMANDS, Subscribing
from roost.errors import Refused


def options_of(*words: str) -> argparse.Namespace:
    return _parser().parse_args(words)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("pub -h", "-h is the host of an MQTT server"),
        ("sub -h", "roost sub --help"),
        ("pub -t a/# -m x", "holds the wildcard '#'"),
        ("pub -t a/+ -m x", "holds the wildcard '+'"),
        ("pub -t a", "give one message"),
        ("pub -t a -m x -n", "give one message"),
        ("pub -t a -n --repeat 0", "--repeat is at least 1"),
        ("pub -t a -n -k 2", "5 to 65535 seconds"),
        ("pub -t a -n -p 0", "a port is 1 to 65535"),
        ("pub -t a -n -c", "give -i"),
        ("pub -t a -n -V 5 -x -1", "give -i"),
        ("pub -t a -n -i x -I y", "-i and -I"),
        ("pub -t a -n -M 0", "messages in flight"),
        ("pub -t a -n -P secret", "give -u"),
        ("pub -t a -n -u x -P secret --ask-password", "use one of them"),
        ("pub -t a -n --will-qos 1", "give --will-topic"),
        ("pub -t a -n --will-topic w/#", "holds the wildcard '#'"),
        ("pub -t a -n --insecure", "goes with TLS"),
        ("pub -t a -n --cafile /nonexistent", "--cafile /nonexistent: there is no such file"),
        ("pub -t a -n -h here --unix there", "leave them out"),
        ("pub -L http://here/a -n", "the scheme is one of mqtt, mqtts, ws, wss"),
        ("pub -L mqtt://here -n", "has no topic"),
        ("pub -L mqtt://here/a -t a -n", "both have a topic"),
        ("pub -t a -n -D subscribe user-property a b", "the command is one of connect, publish"),
        ("pub -t a -n -D publish will-delay-interval 5", "publish has the properties payload-format"),
        ("pub -t a -n -D publish topic-alias 0", "a number from 1 to 65535"),
        ("pub -t a -n -D publish user-property a", "KEY VALUE"),
        ("pub -t a -n -D publish content-type a b", "content-type VALUE"),
        ("sub -t a/#/b", "'#' stands alone in the last level"),
        ("sub -t a -T b+", "'+' stands alone"),
        ("sub -t a -U #/x", "'#' stands alone"),
        ("sub -t a -C 0", "-C is at least 1"),
        ("sub -t a -W 0", "-W is at least 1"),
        ("sub -t a -R --retained-only", "give one of them"),
        ("sub -t a --random-filter 101", "at most 100 per cent"),
        ("sub -t a -F %z", "%z means nothing"),
        ("sub -L mqtt://here", "give -t FILTER"),
        ("sub -t a --since yesterday", "--since 'yesterday' is no time: write how long ago (24h, 7d), a time (2026-"),
    ],
)
def test_what_cannot_be_done_is_one_sentence(words: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words.split()) == 1
    error = capsys.readouterr().err
    assert error.startswith(f"roost {words[:3]}: ")
    assert said in error
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("pub", "required: GROUP, PANEL; or, for MQTT, -t TOPIC"),
        ("sub", "required: GROUP; or, for MQTT, -t TOPIC"),
        ("pub -m x", "-m is for MQTT: add -t TOPIC"),
        ("pub /G Panel1 Heater/Voltage 1 -q 1", "-q is for MQTT"),
        ("sub /G --retained-only", "--retained-only is for MQTT"),
        ("pub -t a -m x --unit V", "--unit is for groups"),
        ("sub -t a --at tcp://here", "--at is for groups"),
        ("pub -t a -m x surplus", "surplus is one word too many"),
        ("sub -t a /G", "/G is one word too many"),
        ("pub -t a -n -q 3", "invalid choice: 3"),
        ("pub -t a -n -x 4294967296", "seconds are 0 to 4294967295"),
    ],
)
def test_letters_of_one_form_are_refused_in_the_other_with_the_usage(
    words: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(words.split())
    assert ended.value.code == 2
    error = capsys.readouterr().err
    assert f"usage: roost {words[:3]} [options] GROUP" in error
    assert said in error


@pytest.mark.parametrize("message", ["-x", "-hello", "--", "-m", "--retain", "-inf", "-5", "-x=y", "- "])
@pytest.mark.parametrize("letter", ["-m", "--message"])
def test_a_value_may_begin_with_a_hyphen(letter: str, message: str) -> None:
    options = options_of("pub", "-t", "-t", letter, message, "-r")
    assert (options.topic, options.message, options.retain) == ("-t", message, True)


@pytest.mark.parametrize("value", ["-inf", "-nan", "-5.5e-3"])
def test_a_reading_that_looks_like_a_letter_is_still_a_reading(value: str) -> None:
    options = options_of("pub", "/G", "Panel1", "Heater/Voltage", value)
    assert (options.value, options.client_id, options.null) == (value, None, False)


@pytest.mark.parametrize(
    ("words", "address", "transport", "tls"),
    [
        ("-t a", "localhost:1883", "tcp", False),
        ("-t a -h broker -p 1884", "broker:1884", "tcp", False),
        ("-t a -p 8883", "localhost:8883", "tcp", True),
        ("-t a --tls-use-os-certs", "localhost:8883", "tcp", True),
        ("-t a --ws -p 80", "localhost:80", "websockets", False),
        ("-t a --unix /run/mqtt.sock", "/run/mqtt.sock", "unix", False),
        ("-L mqtts://broker/a/#", "broker:8883", "tcp", True),
        ("-L wss://[::1]:443/a", "::1:443", "websockets", True),
        ("-L mqtt://broker:1/a -p 2", "broker:2", "tcp", False),
        ("-p 2 -L mqtt://broker/a", "broker:1883", "tcp", False),
        ("-h near -L mqtt://broker:1/a", "broker:1", "tcp", False),
        ("-L mqtt://broker:1/a -h near", "near:1", "tcp", False),
    ],
)
def test_letters_and_urls_say_where_the_server_is(words: str, address: str, transport: str, tls: bool) -> None:
    server = server_of(options_of("sub", *words.split()))
    assert (str(server), server.transport, server.tls is not None) == (address, transport, tls)


def test_a_url_has_user_password_and_a_topic_with_wildcards() -> None:
    server = server_of(options_of("sub", "-L", "mqtt://an%40na:se:cret@host/a/+/#"))
    assert (server.user, server.password, server.topic) == ("an@na", b"se:cret", "a/+/#")


def test_a_password_is_taken_from_the_most_explicit_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "password"
    file.write_bytes(b"from the file\nsecond line\n")
    monkeypatch.setenv("ROOST_MQTT_PASSWORD", "from the environment")
    words = ("sub", "-t", "a")
    assert server_of(options_of(*words)).password is None
    assert server_of(options_of(*words, "-u", "anna")).password == b"from the environment"
    assert server_of(options_of("sub", "-L", "mqtt://a:url@host/t")).password == b"url"
    assert server_of(options_of(*words, "-u", "anna", "--password-file", str(file))).password == b"from the file"
    assert server_of(options_of(*words, "-u", "anna", "-P", "given")).password == b"given"


def test_properties_have_the_types_of_the_specification() -> None:
    wanted = [
        ["PUBLISH", "message-expiry-interval", "60"],
        ["publish", "correlation-data", "é"],
        ["publish", "user-property", "a", "b"],
        ["publish", "user-property", "a", "c"],
        ["connect", "receive-maximum", "5"],
    ]
    found = properties_of("publish", wanted)
    assert found.json() == {  # type: ignore[no-untyped-call]
        "MessageExpiryInterval": 60,
        "CorrelationData": "c3a9",
        "UserProperty": [("a", "b"), ("a", "c")],
    }


@pytest.mark.parametrize(("version", "filters"), [("5", ["a/#", "b"]), ("311", ["$since/24h/a/#", "$since/24h/b"])])
def test_since_is_a_user_property_in_mqtt_5_and_part_of_the_filter_before(version: str, filters: list[str]) -> None:
    options = options_of("sub", "-t", "a/#", "-t", "b", "-V", version, "-q", "1", "--since", "24h")
    client = MqttClient(options, COMMANDS)
    Subscribing(client, options)
    with mock.patch.object(client.paho, "subscribe") as subscribe:
        client.on_open()
    (asked,), named = subscribe.call_args
    assert [topic for topic, _ in asked] == filters
    if version == "5":
        assert named["properties"].UserProperty == [("since", "24h")]
        assert all(isinstance(wanted, SubscribeOptions) and wanted.QoS == 1 for _, wanted in asked)
    else:
        assert named == {}


def test_subscriptions_that_are_all_refused_end_it_and_some_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    options = options_of("sub", "-t", "ours/#", "-t", "theirs/#", "-V", "5")
    client = MqttClient(options, COMMANDS)
    subscribing = Subscribing(client, options)
    granted, denied = (ReasonCode(PacketTypes.SUBACK, identifier=code) for code in (1, 135))
    subscribed: Any = client.paho.on_subscribe
    subscribed(client.paho, None, 1, [granted, denied], None)
    assert capsys.readouterr().err == "roost sub: localhost:1883 refuses theirs/#: not authorized (code 135)\n"
    subscribed(client.paho, None, 1, [denied, denied], None)
    with pytest.raises(Refused, match="refuses all subscriptions") as refused:
        subscribing.run()
    assert refused.value.code == 135


def test_a_refusal_of_mqtt_3_1_1_is_told_with_what_it_may_mean(capsys: pytest.CaptureFixture[str]) -> None:
    client = MqttClient(options_of("sub", "-t", "ours/#", "-V", "311"), COMMANDS)
    Subscribing(client, options_of("sub", "-t", "ours/#", "-V", "311"))
    subscribed: Any = client.paho.on_subscribe
    subscribed(client.paho, None, 1, [ReasonCode(PacketTypes.SUBACK, identifier=128)], None)
    said = "roost sub: localhost:1883 refuses ours/#: no permission, or no such filter (code 128)\n"
    assert capsys.readouterr().err == said


def test_a_topic_alias_stands_for_the_topic_it_came_with(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    options = options_of("sub", "-t", "#", "-v", "-D", "connect", "topic-alias-maximum", "5")
    client = MqttClient(options, COMMANDS)
    Subscribing(client, options)
    arrived = client.paho.on_message
    assert arrived is not None
    for topic in (b"hall/1", b""):
        message = MQTTMessage(topic=topic)
        message.payload = b"x"
        message.properties = properties_of("publish", [["publish", "topic-alias", "3"]])
        arrived(client.paho, None, message)
    assert capsysbinary.readouterr().out == b"hall/1 x\nhall/1 x\n"
