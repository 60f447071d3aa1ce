"""The centre: the node that knows the whole campus, runs its macros, and shows the page.

It runs inside the demo's own process, so that the panel for breaking things is one more wing of its door. Two people
may log in: ada looks after the buildings and sees everything, bob visits and sees whether a room is taken, and not by
how many. Their passwords are made for this run and are in a file that only its owner can read.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from roost.cli.demo.annex import BADGE
from roost.cli.demo.keys import GROUPS, Keys
from roost.host.mqtt.passwords import LIGHT, PasswordHash
from roost.naming.topic import topic_of_name
from roost.sim import deployment
from roost.sim.physics import Badge

if TYPE_CHECKING:
    from roost.host.http.gate import UserGate
    from roost.host.http.wing import Wing
    from roost.host.mqtt.running import Running

HOME_VARIABLE: Final = "ROOST_HOME"
MANAGER: Final = "ada"
VISITOR: Final = "bob"
AVERAGED: Final = 3  # rooms of the first panel
WEIGHTS: Final = (3, 2, 1)

_PERMISSIONS: Final = f"""\
anonymous
  readwrite  #
  readwrite  $SYS/#
  readwrite  $roles/#

user {MANAGER}
  readwrite  #
  readwrite  $SYS/#
  readwrite  $roles/#

user {VISITOR}
  read       #
"""
_DOCUMENTS: Final = [
    {
        "topic": "annex/+/+/occupancy",
        "roles": {
            "manager": {"streams": ["raw", "{topic}/anonymize"], "default": "raw"},
            "visitor": {"streams": ["{topic}/anonymize"]},
            "*": {"streams": ["{topic}/anonymize"]},  # who has not logged in
        },
    },
    {"topic": BADGE, "roles": {"manager": {"streams": ["raw"]}, "visitor": {"streams": []}}},
]


class Centre:
    """Its files and, while `running`, its addresses."""

    def __init__(self, keys: Keys, folder: Path, http_port: int, mqtt_port: int, tcp_port: int) -> None:
        self.home: Final = folder / deployment.CENTRE
        self.http: Final = f"http://127.0.0.1:{http_port}"
        self.mqtt_port: Final = mqtt_port
        self.uri: Final = f"tcp4://127.0.0.1:{tcp_port}"
        self.passwords: Final = {name: secrets.token_urlsafe(9) for name in (MANAGER, VISITOR)}
        self._http_port: Final = http_port
        self._tcp_port: Final = tcp_port
        name = deployment.CENTRE
        keys.save([place.name for group in GROUPS for place in (group.panel(name), group.repo(name))], self.home)

    @property
    def passwords_file(self) -> Path:
        """Where they can be read."""
        return self.home / "passwords.txt"

    @asynccontextmanager
    async def running(
        self,
        uplinks: Sequence[str],
        wing: Callable[[Running, UserGate], AbstractAsyncContextManager[Wing]],
    ) -> AsyncIterator[Running]:
        """Run it in this process while the block lasts."""
        from roost.host.mqtt.config import read_config
        from roost.host.mqtt.running import running_broker
        from roost.web.site import site

        self._write()
        with _at_home(self.home):
            config = read_config(self._said(uplinks), self.home, self.home)
            async with running_broker(config, builders=[site, wing]) as running:
                yield running

    def _said(self, uplinks: Sequence[str]) -> dict[str, object]:
        name = deployment.CENTRE
        trees = [{"filter": f"{group.name.at(-1)!s}/#".lower(), "group": str(group.name)} for group in GROUPS]
        trees.append({"filter": "annex/#", "group": str(deployment.ANNEX.name)})
        return {
            "name": name,
            "listeners": [{"tcp": f"127.0.0.1:{self.mqtt_port}"}],
            "http": f"127.0.0.1:{self._http_port}",
            "store": "mqtt",
            "users": "users",
            "permissions": "permissions",
            "roles": {"documents": "rbps.yaml", "users": "roles.yaml"},
            "macros": {"files": ["macros.yaml"], "group": str(deployment.MACROS.name)},
            "trees": trees,
            "groups": [{"name": str(group.name), "panel": name, "repo": name} for group in GROUPS],
            "node": {"tcp": [f"127.0.0.1:{self._tcp_port}"], "uplinks": list(uplinks)},
        }

    def _write(self) -> None:
        hashes = {name: PasswordHash.make(password.encode(), LIGHT) for name, password in self.passwords.items()}
        secret = {
            "users": "".join(f"{name}:{kept}\n" for name, kept in hashes.items()),
            self.passwords_file.name: "".join(f"{name}  {password}\n" for name, password in self.passwords.items()),
        }
        for name, text in secret.items():
            descriptor = os.open(self.home / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.write(text)
        written = {
            "permissions": _PERMISSIONS,
            "rbps.yaml": json.dumps(_DOCUMENTS),
            "roles.yaml": json.dumps({MANAGER: ["manager"], VISITOR: ["visitor"]}),
            "macros.yaml": json.dumps(definitions()),
        }
        for name, text in written.items():
            (self.home / name).write_text(text, encoding="utf-8")


def definitions() -> list[dict[str, object]]:
    """The macros: those of the Noctua paper (figures 3, 9 and 15), and one for each room that keeps a count back."""
    temps = [topic_of_name(stream) for stream in deployment.streams(deployment.PANELS[0]) if stream.at(-1) == _TEMP]
    found: list[dict[str, object]] = [
        {
            "name": "hall/room1/fahrenheit",
            "description": "what room1 measures in °C, in °F",
            "code": f"Noctua.topic('{temps[0]}') * 9/5 + 32",
        },
        {
            "name": "hall/rooms/average",
            "description": "the weighted moving average of three rooms: the newest reading counts most",
            "code": _AVERAGE % {"topics": json.dumps(temps[:AVERAGED]), "weights": list(WEIGHTS)},
        },
        {
            "name": "annex/person/position",
            "description": "where the person with the badge is, by the strength of four beacons",
            "code": _LOCALIZATION % {"beacons": [list(each) for each in Badge.BEACONS], "topic": BADGE},
        },
    ]
    return found + [
        {
            "name": f"{room}/occupancy/anonymize",
            "description": "whether somebody is there, and not how many",
            "code": f"Noctua.topic('{room}/occupancy') > 0 ? 1 : 0",
        }
        for room in deployment.annex_topics()
    ]


@contextmanager
def _at_home(home: Path) -> Iterator[None]:
    """Have this process look for keys there, as a node does; children are told their own."""
    before = os.environ.get(HOME_VARIABLE)
    os.environ[HOME_VARIABLE] = str(home)
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(HOME_VARIABLE, None)
        else:
            os.environ[HOME_VARIABLE] = before


_TEMP: Final = deployment.streams("pi1")[0].at(-1)
_AVERAGE: Final = """\
function() {
  var weights = %(weights)s, sum = 0, topics = %(topics)s;
  for (var i = 0; i < topics.length; ++i) {
    var newest = Noctua.topic(topics[i], {required: weights.length}), weighted = 0, all = 0;
    for (var j = 0; j < weights.length; ++j) {
      weighted += newest[j] * weights[j];
      all += weights[j];
    }
    sum += weighted / all;
  }
  return Math.round(100 * sum / topics.length) / 100;
}()
"""
_LOCALIZATION: Final = """\
function() {
  var beacons = %(beacons)s, ETA = 2.5, SIG = 4, K = 40, TX = 0;
  var strengths = Noctua.topic('%(topic)s'), best = 0, place = [50, 50];
  for (var y = 5; y < 100; y += 10) {
    for (var x = 5; x < 100; x += 10) {
      var likelihood = 1;
      for (var b = 0; b < beacons.length; ++b) {
        var d = Math.sqrt(Math.pow(beacons[b][0] - x, 2) + Math.pow(beacons[b][1] - y, 2));
        var fade = TX - strengths[b] - K - 10 * ETA * Math.log10(d);
        likelihood *= Math.exp(-fade * fade / (2 * SIG * SIG)) / Math.sqrt(2 * Math.PI * SIG * SIG);
      }
      if (likelihood > best) {
        best = likelihood;
        place = [x, y];
      }
    }
  }
  return {x: place[0], y: place[1]};
}()
"""
