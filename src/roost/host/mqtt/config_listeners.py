"""Where a broker listens, as the configuration says it: an address per entry, and for TLS the files.

listeners:
  - tcp: 127.0.0.1:1883
  - ws: 127.0.0.1:8083
    behind_proxy: true      nobody counts as on this machine: a proxy speaks for others
"""

from __future__ import annotations

from pathlib import Path

from roost.errors import BadConfig
from roost.host.mqtt.certificate_user import SOURCES
from roost.host.mqtt.config_values import choice, entries, known, listen_at, path, section, yes_or_no
from roost.host.mqtt.listener import PORTS, ListenerSettings
from roost.host.mqtt.tls import TlsFiles


def read_listeners(said: object, folder: Path) -> tuple[ListenerSettings, ...]:
    """Read the list; raises `BadConfig`."""
    given = entries("listeners", said)
    if not given:
        raise BadConfig("listeners: there is none, so nobody could connect; write `- tcp: 127.0.0.1:1883` below it")
    return tuple(
        _listener(f"listeners[{at}]", section(f"listeners[{at}]", each), folder) for at, each in enumerate(given)
    )


def _listener(key: str, value: object, folder: Path) -> ListenerSettings:
    said = section(key, value)
    transports = [name for name in PORTS if name in said]
    if len(transports) != 1:
        raise BadConfig(f"{key}: one of {', '.join(PORTS)} says where to listen, as in `- tcp: 127.0.0.1:1883`")
    transport = transports[0]
    secure = transport in {"tls", "wss"}
    names = ("certificate", "key", "clients", "require_certificate", "user_from") if secure else ()
    known(key, said, dict.fromkeys((transport, *names, "behind_proxy")))
    host, port = listen_at(f"{key}.{transport}", said[transport], PORTS[transport])
    behind_proxy = yes_or_no(f"{key}.behind_proxy", said.get("behind_proxy", False)) is True
    return ListenerSettings(transport, host, port, _tls(key, said, folder) if secure else None, behind_proxy)


def _tls(key: str, said: dict[str, object], folder: Path) -> TlsFiles:
    for name in ("certificate", "key"):
        if name not in said:
            raise BadConfig(f"{key}.{name}: TLS needs one; name a file in PEM form")
    clients = path(f"{key}.clients", said["clients"], folder) if "clients" in said else None
    require = yes_or_no(f"{key}.require_certificate", said.get("require_certificate", False)) is True
    if require and clients is None:
        raise BadConfig(f"{key}.clients: who is to require certificates must know who signs them; name a file")
    user_from = choice({source: source for source in SOURCES})(f"{key}.user_from", said.get("user_from", "CN"))
    certificate, private = (path(f"{key}.{name}", said[name], folder) for name in ("certificate", "key"))
    return TlsFiles(certificate, private, clients, require, str(user_from))
