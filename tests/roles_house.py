"""A node with a group, roles and a macro that anonymises, and users with keys of their own: figure 7, for every door.

async with working(house) as (running, sam):     sam sees both streams and publishes
    await say(sam, "21.7")                       and 20 is on the other stream
"""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import aiomqtt
import pytest
from tests.e2e.test_http import ask, write_users
from tests.e2e.test_mqtt_groups import taken, uri_of
from tests.roles_world import DOCUMENT

from roost.cli import main
from roost.host.client import connect
from roost.host.face import Face
from roost.host.keystore import KeyStore
from roost.host.mqtt.config import read_config
from roost.host.mqtt.running import Running, running_broker
from roost.naming import Name

GROUP = "/BigCompany/Building1/Electricity"
STAFF = "/BigCompany/Staff"
RAW, STREAM = "home/hall", "Noctua/home/hall/anonymize"
EXACT, VAGUE = "21.7", "20"
CODE = f"Math.floor(Noctua.topic('{RAW}') / 10) * 10"
USERS = ("ada", "cid", "vic", "bob", "sam")
ROLES = {"ada": ["developer"], "cid": ["customer"], "vic": ["visitor"], "sam": ["developer"]}
PERMISSIONS = "user sam\nreadwrite #\nall\nread #\n"


class House(NamedTuple):
    """The folder of the node's files; the keys of each user are in `home(user)`."""

    folder: Path

    def home(self, user: str) -> Path:
        return self.folder / f"home-{user}"

    def keys(self, user: str) -> KeyStore:
        return KeyStore(self.home(user))

    def says(self, roles: dict[str, list[str]], *documents: object) -> None:
        """Write who has which role, and the documents; JSON is YAML."""
        (self.folder / "roles.yaml").write_text(json.dumps(roles))
        (self.folder / "rbps.yaml").write_text(json.dumps(list(documents) or [DOCUMENT]))


def built(folder: Path) -> House:
    """The company's keys, and those of each user in a home of its own; eve has some that no configuration names."""
    house = House(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ROOST_HOME", str(house.folder / "home"))
        company = ("--company", "BigCompany", "--building", "Building1", "--department", "Staff")
        assert main(["init", *company, "--repo", "Repo1", "--repo", "Repo2"]) == 0
        for name in (f"{GROUP}/Gate1", f"{GROUP}/Gate2", STAFF):
            assert main(["keys", "make", name]) == 0
        assert main(["keys", "certificate", f"{GROUP}/Gate2", str(house.folder / "gate2.cert")]) == 0
        for user in (*USERS, "eve"):
            assert main(["keys", "make", f"{STAFF}/{user}"]) == 0
            assert main(["keys", "certificate", f"{STAFF}/{user}", str(house.folder / f"{user}.cert")]) == 0
    whole = KeyStore(house.folder / "home")
    for user in (*USERS, "eve"):
        own = house.keys(user)
        own.create()
        own.save_schema(whole.schema_file.read_text())
        for anchor in whole.anchors():
            own.save_anchor(anchor)
        for certificate in whole.certificates():
            own.save_certificate(certificate)
        [identity] = [each for each in whole.identities() if each.name == Name.parse(f"{STAFF}/{user}")]
        own.save_identity(identity)
    house.says(ROLES)
    write_users(house.folder, PERMISSIONS, **dict.fromkeys((*USERS, "eve"), "word"))
    return house


@asynccontextmanager
async def node(house: House, number: int = 1, *uplinks: str, **more: Any) -> AsyncIterator[Running]:  # noqa: ANN401
    """A node with MQTT, HTTP, a group, roles and macros."""
    said: dict[str, Any] = {
        "listeners": [{"tcp": "127.0.0.1:0"}],
        "store": "memory",
        "http": "127.0.0.1:0",
        "users": "users",
        "permissions": "permissions",
        "roles": {
            "documents": "rbps.yaml",
            "users": "roles.yaml",
            "readers": {user: f"{user}.cert" for user in USERS},
            "nodes": ["gate2.cert"],
        },
        "macros": {},
        "trees": [{"filter": "plain/#"}, {"filter": "#", "group": GROUP}],
        "groups": [{"name": GROUP, "panel": f"Gate{number}", "repo": f"Repo{number}"}],
        "node": {"tcp": ["127.0.0.1:0"], "uplinks": list(uplinks)},
    }
    async with running_broker(read_config(said | more, house.folder, house.folder)) as running:
        yield running


def client(running: Running, user: str, **more: Any) -> aiomqtt.Client:  # noqa: ANN401  as aiomqtt has it
    port = int(running.uris[0].rpartition(":")[2])
    v5 = aiomqtt.ProtocolVersion.V5
    return aiomqtt.Client("127.0.0.1", port, protocol=v5, username=user, password="word", **more)


@asynccontextmanager
async def working(house: House, **more: Any) -> AsyncIterator[tuple[Running, aiomqtt.Client]]:  # noqa: ANN401
    """A node that anonymises, and sam, who sees both streams and publishes."""
    async with node(house, **more) as running, client(running, "sam") as sam:
        status, _ = await ask(running, "PUT", "/macros/home/hall/anonymize", {"code": CODE}, "sam:word")
        assert status in {200, 201}
        await sam.subscribe(f"$raw/{RAW}", qos=1)
        await sam.subscribe(STREAM, qos=1)
        yield running, sam


async def say(sam: aiomqtt.Client, value: str = EXACT) -> None:
    """Publish, and wait until both streams have it: whoever gets either has it on the way then."""
    await sam.publish(RAW, value, qos=1)
    vague = str(int(float(value) // 10) * 10)
    assert sorted(await taken(sam, 2)) == [(STREAM, vague), (RAW, value)]


@asynccontextmanager
async def face_of(house: House, user: str, running: Running) -> AsyncIterator[Face]:
    keys = house.keys(user)
    async with connect([uri_of(running)], signer=keys.keychain(), verifier=keys.verifier(time.time_ns())) as face:
        yield face
