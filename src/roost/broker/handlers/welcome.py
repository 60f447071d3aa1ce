"""The CONNACK of a client that is let in: what the server grants, and where it differs from what was asked (3.2.2)."""

from __future__ import annotations

from roost.broker.core import Core
from roost.broker.link import Link
from roost.broker.packets.connack import connack
from roost.broker.packets.connect import Connect
from roost.broker.packets.properties import Properties
from roost.broker.packets.reasons import SUCCESS
from roost.broker.session import Session
from roost.machine.contract import SECOND


def welcome(core: Core, link: Link, session: Session, connect: Connect, present: bool, data: bytes) -> bytes:  # noqa: FBT001
    """Build the CONNACK, and set the keep-alive that it tells [MQTT-3.1.2-21, 3.2.2-21]."""
    settings = core.settings
    seconds = connect.keep_alive_s
    if connect.version < 5:
        link.keep_alive = _silence(seconds)
        return connack(connect.version, present, SUCCESS)
    properties = Properties()
    if settings.max_keep_alive_s < 65_535 and (seconds == 0 or seconds > settings.max_keep_alive_s):
        seconds = settings.max_keep_alive_s
        properties.server_keep_alive_s = seconds
    link.keep_alive = _silence(seconds)
    if session.expiry_s != max(0, connect.properties.session_expiry_s):
        properties.session_expiry_s = session.expiry_s
    if settings.receive_maximum < 65_535:
        properties.receive_maximum = settings.receive_maximum
    if settings.maximum_qos < 2:
        properties.maximum_qos = settings.maximum_qos
    if not settings.retain_available:
        properties.retain_available = 0
    properties.maximum_packet_bytes = link.framer.max_bytes
    if not connect.client_id:
        properties.assigned_client_id = link.client
    if settings.topic_alias_maximum:
        properties.topic_alias_maximum = settings.topic_alias_maximum
    if not settings.wildcards_available:
        properties.wildcards_available = 0
    if not settings.identifiers_available:
        properties.subscription_ids_available = 0
    if not settings.shared_available:
        properties.shared_available = 0
    if connect.properties.request_response == 1 and settings.response_prefix:
        properties.response_information = settings.response_prefix + link.client
    if link.method:  # [MQTT-4.12.0-5]
        properties.auth_method = link.method
        properties.auth_data = data or None
    return connack(5, present, SUCCESS, properties)


def _silence(seconds: int) -> int:
    """After how much silence a client is taken for gone, 0 for never [MQTT-3.1.2-22]."""
    return seconds * SECOND * 3 // 2
