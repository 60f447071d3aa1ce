"""The HTTP door, as the configuration says it: an address, or one with the files of TLS.

http: 127.0.0.1:8080
http: {listen: 0.0.0.0:8443, certificate: server.pem, key: server.key}
http: {listen: 127.0.0.1:8080, behind_proxy: true}     nobody counts as on this machine: a proxy on it speaks for others
"""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from roost.errors import BadConfig
from roost.host.mqtt.config_values import known, listen_at, path, section, yes_or_no
from roost.host.mqtt.tls import TlsFiles, make_context

PORT: Final = 8080
_KEYS: Final = dict.fromkeys(("listen", "certificate", "key", "behind_proxy"))


@dataclass(frozen=True, slots=True)
class HttpSettings:
    """Where to listen, and with which certificate, if any."""

    host: str
    port: int
    tls: TlsFiles | None = None
    behind_proxy: bool = False

    def __str__(self) -> str:
        return f"{'http' if self.tls is None else 'https'} {self.host}:{self.port}"

    def contexts(self) -> dict[str, ssl.SSLContext]:
        """Read the certificate, if there is one, by how the door is called; raises `BadConfig`."""
        return {} if self.tls is None else {str(self): make_context(self.tls, "http/1.1")}


def read_http(value: object, folder: Path) -> HttpSettings:
    """Read it; raises `BadConfig`."""
    if not isinstance(value, dict):
        return HttpSettings(*listen_at("http", value, PORT))
    said = section("http", value)
    known("http", said, _KEYS)
    host, port = listen_at("http.listen", said.get("listen"), PORT)
    behind_proxy = bool(yes_or_no("http.behind_proxy", said.get("behind_proxy", False)))
    if "certificate" not in said and "key" not in said:
        return HttpSettings(host, port, behind_proxy=behind_proxy)
    for name in ("certificate", "key"):
        if name not in said:
            raise BadConfig(f"http.{name}: TLS needs one; name a file in PEM form")
    certificate, private = (path(f"http.{name}", said[name], folder) for name in ("certificate", "key"))
    return HttpSettings(host, port, TlsFiles(certificate, private), behind_proxy)
