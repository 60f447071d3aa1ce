"""python-ndn commands a repo of ours: repo-ng's protocol and ndn-python-repo's, built from its own TLV models.

A node of ours runs with a repo's insertion inside; the panel is an application of python-ndn, with a key that the
building has certified. It encodes every command and reads every answer by itself, and checks who has signed them.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import secrets
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random
from typing import Any

from Cryptodome.PublicKey import ECC
from ndn.appv2 import NDNApp
from ndn.client_conf import default_face
from ndn.encoding import (
    BytesField,
    Component,
    ModelField,
    NameField,
    RepeatedField,
    TlvModel,
    UintField,
)
from ndn.security import verify_ecdsa
from ndn.security.signer import Sha256WithEcdsaSigner
from ndn.types import ValidResult

from roost.forwarding.endpoint import Endpoint
from roost.forwarding.endpoint_effects import Asked
from roost.host import Listen, running
from roost.machine import Effect
from roost.naming import Name
from roost.naming.building import Company
from roost.naming.conventions import segment, version
from roost.node import Node, NodeSettings
from roost.pubsub.asking import Asking
from roost.pubsub.repos.insertion import Insertion
from roost.pubsub.resident import Event, Resident
from roost.repo.memory import MemoryStore
from roost.repo.shelf import Shelf
from roost.repo.store import Unwritten, Write, Written
from roost.sync.port import Reply
from roost.trust import Identity, Verifier, building_schema, certify, generate, self_sign
from roost.wire import Data, DigestSigner

COMPANY = Company(Name.parse("/BigCompany"), frozenset({"Building1"}))
GROUP = COMPANY.group("Building1", "Electricity")
PANEL = GROUP.panel("Panel1").name
OTHER = GROUP.panel("Panel2").name
REPO = GROUP.repo("Repo1").name
FILE = PANEL / "firmware" / version(1)


class RepoPart:
    """Insertion, a shelf and a store in memory, which the data interface reads."""

    def __init__(self, verifier: Verifier, repo: Identity) -> None:
        self.prefixes = (GROUP.name,)
        self.routes = (GROUP.service, REPO)
        self.store = MemoryStore()
        self.shelf = Shelf("repo", self.store)
        self.asking = Asking(verifier, REPO)
        self.insertion = Insertion(self.asking, self.shelf, repo.signer, Random(1), GROUP.name, [GROUP.service, REPO])

    def start(self, now: int) -> list[Effect]:
        return self._write(self.shelf.start(now), now)

    def receive(self, event: Event, now: int) -> list[Effect]:
        if isinstance(event, Asked):
            effects = self.insertion.asked(event, now)
            if effects is None:
                packet = self.store.get(event.interest.name)
                effects = [] if packet is None else [Reply(packet, event.token)]
        elif isinstance(event, (Written, Unwritten)):
            effects = self.shelf.receive(event, now)
        else:
            effects = self.asking.receive(event, now)  # type: ignore[arg-type]
        return self._write(effects, now)

    def tick(self, now: int) -> list[Effect]:
        return self._write(self.insertion.tick(now), now)

    def deadline(self) -> int | None:
        return self.insertion.deadline()

    def sizes(self) -> dict[str, tuple[int, int]]:
        return self.insertion.sizes()

    def _write(self, effects: list[Effect], now: int) -> list[Effect]:
        """Play the disk."""
        passed: list[Effect] = []
        for effect in effects:
            if isinstance(effect, Write):
                self.store.write([effect.batch])
                passed += self.receive(Written(effect.store, effect.ticket), now)
            else:
                passed.append(effect)
        return passed


class Parameter(TlvModel):  # type: ignore[misc]
    name = NameField()
    start = UintField(204)
    end = UintField(205)
    process = UintField(206)


class Command(TlvModel):  # type: ignore[misc]
    parameter = ModelField(201, Parameter)


class Answer(TlvModel):  # type: ignore[misc]
    process = UintField(206)
    code = UintField(208)
    start = UintField(204)
    end = UintField(205)
    inserted = UintField(209)
    deleted = UintField(210)


class Wrapping(TlvModel):  # type: ignore[misc]
    code = UintField(102)
    text = BytesField(103)
    answer = ModelField(207, Answer)


class AnswerContent(TlvModel):  # type: ignore[misc]
    wrapping = ModelField(101, Wrapping)
    answer = ModelField(207, Answer)


class Wrapped(TlvModel):  # type: ignore[misc]
    name = NameField()


class Notify(TlvModel):  # type: ignore[misc]
    publisher = NameField()
    nonce = BytesField(128)
    hint = ModelField(211, Wrapped)


class ObjParam(TlvModel):  # type: ignore[misc]
    name = NameField()
    hint = ModelField(211, Wrapped)
    start = UintField(204)
    end = UintField(205)
    register = ModelField(212, Wrapped)


class Message(TlvModel):  # type: ignore[misc]
    objects = RepeatedField(ModelField(301, ObjParam))


class Check(TlvModel):  # type: ignore[misc]
    number = BytesField(206)


class ObjStatus(TlvModel):  # type: ignore[misc]
    name = NameField()
    code = UintField(208)
    inserted = UintField(209)
    deleted = UintField(210)


class Status(TlvModel):  # type: ignore[misc]
    code = UintField(208)
    objects = RepeatedField(ModelField(302, ObjStatus))


class CommandSigner(Sha256WithEcdsaSigner):  # type: ignore[misc]
    """python-ndn's, with the time and nonce that a command has."""

    last_ms = 0

    def write_signature_info(self, signature_info: Any) -> None:  # noqa: ANN401  theirs has no types
        super().write_signature_info(signature_info)
        CommandSigner.last_ms = max(time.time_ns() // 10**6, CommandSigner.last_ms + 1)
        signature_info.signature_time = CommandSigner.last_ms
        signature_info.signature_nonce = int.from_bytes(os.urandom(8), "big")


def formal(name: Name) -> list[bytes]:
    return [part.wire for part in name]


class PanelApp:
    """A panel that is a program of python-ndn."""

    def __init__(self, uri: str, panel: Identity, repo: Identity) -> None:
        self.app = NDNApp(default_face(uri))
        key = ECC.import_key(panel.key.pkcs8())
        private = key.export_key(format="DER", use_pkcs8=True)
        locator = formal(panel.certificate.name)
        self.data_signer = Sha256WithEcdsaSigner(locator, private)
        self.command_signer = CommandSigner(locator, private)
        self.served: dict[bytes, bytes] = {}
        self._repo_key = ECC.import_key(repo.key.public.spki)

    def publish(self, name: Name, content: bytes) -> None:
        wire = bytes(NDNApp.make_data(formal(name), content, self.data_signer))
        self.served[name.value] = wire

    async def serve(self, prefix: Name) -> None:
        def asked(name: list[bytes], _parameters: object, reply: Any, _context: object) -> None:  # noqa: ANN401
            wire = self.served.get(b"".join(bytes(part) for part in name))
            if wire is not None:
                reply(wire)

        self.app.attach_handler(formal(prefix), asked)
        assert await self.app.register(formal(prefix))

    async def tell(self, name: Name, parameters: bytes, signer: object) -> bytes:
        """Express an Interest with parameters; its answer has to be signed by the repo."""

        async def by_the_repo(_name: object, pointers: object, _context: object) -> ValidResult:
            return ValidResult.PASS if verify_ecdsa(self._repo_key, pointers) else ValidResult.FAIL

        _, content, _ = await self.app.express(
            formal(name), by_the_repo, app_param=parameters, signer=signer, must_be_fresh=True, lifetime=4000
        )
        return bytes(content or b"")

    async def command(self, verb: str, name: Name, **fields: int) -> tuple[int, Any, str]:
        command = Command()
        command.parameter = Parameter()
        command.parameter.name = formal(name)
        for field, number in fields.items():
            setattr(command.parameter, field, number)
        component = Component.from_bytes(bytes(command.encode()))
        content = await self.tell(GROUP.service / verb + Name.decode(bytes(component)), b"", self.command_signer)
        answer = AnswerContent.parse(content)
        if answer.wrapping is not None:
            return answer.wrapping.code, answer.wrapping.answer, bytes(answer.wrapping.text).decode()
        return answer.answer.code, answer.answer, ""

    async def publish_message(self, verb: str, message: bytes) -> None:
        """What the publisher of ndn-python-repo does."""
        nonce = os.urandom(4)
        topic = GROUP.service / verb
        self.publish(PANEL / "msg" + topic + Name.decode(bytes(Component.from_bytes(nonce))), message)
        notify = Notify()
        notify.publisher = formal(PANEL)
        notify.nonce = nonce
        assert await self.tell(topic / "notify", bytes(notify.encode()), self.data_signer) == b""

    async def checked(self, verb: str, message: bytes) -> Any:  # noqa: ANN401  a model of theirs
        check = Check()
        check.number = hashlib.sha256(message).digest()
        return Status.parse(await self.tell(GROUP.service / verb, bytes(check.encode()), self.data_signer))


def identities() -> dict[Name, Identity]:
    now = time.time_ns()
    root = self_sign(generate(COMPANY.root.name, secrets.token_bytes, "ecdsa"), now)
    made = {root.name: root}
    building = COMPANY.building("Building1").name
    for name, issuer in (
        (building, root.name),
        (GROUP.name, building),
        (PANEL, building),
        (OTHER, building),
        (REPO, GROUP.name),
    ):
        key = generate(name, secrets.token_bytes, "ecdsa")
        made[name] = Identity(key, certify(made[issuer], key.name, key.public.spki, now))
    return made


@asynccontextmanager
async def repo_and_panel(folder: Path, who: Name = PANEL) -> AsyncIterator[tuple[RepoPart, PanelApp]]:
    """A node with a repo inside, and the panel on a face of it; `who` is whose key it signs with."""
    keys = identities()
    verifier = Verifier(building_schema(COMPANY), [keys[COMPANY.root.name].certificate])
    for identity in keys.values():
        verifier.learn(identity.certificate.data, time.time_ns())
    part = RepoPart(verifier, keys[REPO])
    socket = folder / f"{secrets.token_hex(4)}.sock"
    async with running(Node(NodeSettings(), Random(1)), Listen(unix=socket)) as listening:
        resident = Resident(part, Endpoint(DigestSigner(), Random(2)), register=True)
        listening.server.attach_application(resident, lambda _effect, _now: None)
        panel = PanelApp(f"unix://{socket}", keys[who], keys[REPO])
        started = asyncio.get_running_loop().create_future()

        async def after_start() -> None:
            started.set_result(None)

        loop = asyncio.create_task(panel.app.main_loop(after_start()))
        await started
        await panel.serve(PANEL)
        yield part, panel
        panel.app.shutdown()
        await loop


async def until_done(panel: PanelApp, name: Name, process: int) -> tuple[int, Any, str]:
    while True:
        code, answer, text = await panel.command("insert check", name, process=process)
        if code != 300:
            return code, answer, text


async def test_python_ndn_inserts_checks_and_deletes_as_with_repo_ng(folder: Path) -> None:
    async with repo_and_panel(folder) as (part, panel):
        for number in range(20):
            panel.publish(FILE / segment(number), b"%d" % number)
        code, accepted, _ = await panel.command("insert", FILE, start=0, end=19)
        assert (code, accepted.code) == (100, 100)
        code, done, _ = await until_done(panel, FILE, accepted.process)
        assert (code, done.inserted, done.start, done.end) == (200, 20, 0, 19)
        assert part.store.get(FILE / segment(7)) == panel.served[(FILE / segment(7)).value]
        code, deleted, _ = await panel.command("delete", FILE, start=0, end=19, process=1)
        assert (code, deleted.deleted) == (200, 20)
        assert part.store.get(FILE / segment(7)) is None
        assert (await panel.command("insert check", FILE, process=99))[0] == 404


async def test_what_another_panel_has_signed_is_refused_and_python_ndn_reads_why(folder: Path) -> None:
    async with repo_and_panel(folder, OTHER) as (part, panel):
        panel.publish(FILE / segment(0), b"forged")
        _, accepted, _ = await panel.command("insert", FILE / segment(0))
        code, _, text = await until_done(panel, FILE, accepted.process)
        assert code == 403
        assert "rule" in text
        assert not part.store.scan(Name(), None, 10)


async def test_python_ndn_inserts_and_deletes_as_with_ndn_python_repo(folder: Path) -> None:
    async with repo_and_panel(folder) as (part, panel):
        for number in range(20):
            panel.publish(FILE / segment(number), b"%d" % number)
        message = Message()
        wanted = ObjParam()
        wanted.name, wanted.start, wanted.end = formal(FILE), 0, 19
        wanted.register = Wrapped()
        wanted.register.name = formal(FILE)
        message.objects = [wanted]
        told = bytes(message.encode())
        assert (await panel.checked("insert check", told)).code == 404
        await panel.publish_message("insert", told)
        while (status := await panel.checked("insert check", told)).code == 300:
            pass
        assert (status.code, status.objects[0].code, status.objects[0].inserted) == (200, 200, 20)
        assert Data.decode(part.store.get(FILE / segment(19)) or b"").content == b"19"
        await panel.publish_message("delete", told)
        status = await panel.checked("delete check", told)
        assert (status.code, status.objects[0].deleted) == (200, 20)
        assert part.store.get(FILE / segment(0)) is None
