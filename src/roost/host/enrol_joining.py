"""Coming in with a code: fetch the offer, make a key or a password here, have it granted, keep everything.

A home that is new is made whole or not at all (`roost.host.making`). One that is there must trust the same anchor. The
key, or the password, is on the disk before it is claimed, and gone again if the claim fails.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final
from urllib.parse import quote

from roost.errors import BadConfig, TimedOut, Unreachable, Untrusted
from roost.host.enrol_inviting import CLAIM, DONE, OFFER, PREFIX
from roost.host.face import Face
from roost.host.keystore import KeyStore, write_file
from roost.host.making import new_store
from roost.host.mqtt.passwords import LIGHT, PasswordHash
from roost.naming import Component, Name
from roost.pubsub.fetch_effects import FetchSettings
from roost.trust import Kind, Schema, generate
from roost.trust.enrolment import Enrolment
from roost.trust.enrolment_checking import check_grant, check_offer
from roost.trust.enrolment_messages import Claim, KeyOffer, Offer, UserOffer
from roost.trust.enrolment_seal import Seal
from roost.trust.identity import request
from roost.wire.certificate import Certificate

MAX_OFFER_BYTES: Final = 1 << 21
LIFETIME_MS: Final = 4000
TRIES: Final = 4
PASSWORD_BYTES: Final = 24


@dataclass(frozen=True, slots=True)
class EnrolledKey:
    """A key is here, with its certificate."""

    offer: KeyOffer
    certificate: Certificate
    is_new_home: bool


@dataclass(frozen=True, slots=True)
class EnrolledUser:
    """A password is here, in a file, and the authority of the broker's certificate if there is one."""

    offer: UserOffer
    password_file: Path
    authority_file: Path | None


class Joining:
    """One enrolment over one face."""

    def __init__(self, face: Face, secret: bytes, home: Path, clock: Callable[[], int]) -> None:
        seal = Seal(secret)
        self._face: Final = face
        self._home: Final = home
        self._clock: Final = clock
        self._machine: Final = Enrolment(seal, os.urandom)
        self._prefix: Final = PREFIX / Component(seal.identifier)

    async def offer(self) -> Offer:
        """Fetch the offer and read it."""
        try:
            box = await self._face.fetch_object(
                self._prefix / OFFER, FetchSettings(tries=TRIES, lifetime_ms=LIFETIME_MS), max_bytes=MAX_OFFER_BYTES
            )
        except Unreachable as error:
            raise TimedOut(
                f"nobody at {self._face.where} waits for this code: it was used, or its time is over, or it is for "
                f"another node (--at URI says which); ask for another code ({error})"
            ) from None
        return self._machine.open_offer(box, self._clock())

    async def enrol_key(self, offer: KeyOffer, kind: Kind) -> EnrolledKey:
        """Make the key that was offered a certificate, and have it certified."""
        schema = check_offer(offer, self._clock())
        store = KeyStore(self._home)
        is_new = not store.exists
        if is_new:
            with new_store(self._home) as fresh:
                fresh.save_anchor(offer.anchor)
                fresh.save_schema(offer.schema)
                certificate = await self._certified(fresh, offer, schema, kind)
        else:
            schema = _joined(store, offer, self._clock())
            certificate = await self._certified(store, offer, schema, kind)
        await self._part()
        return EnrolledKey(offer, certificate, is_new)

    async def enrol_user(self, offer: UserOffer) -> EnrolledUser:
        """Make a password, have its hash taken, and keep it in a file."""
        stem = f"mqtt-{quote(offer.user, safe='')}"
        file, authority = self._home / f"{stem}.password", self._home / f"{stem}.ca.pem"
        if file.exists():
            raise BadConfig(f"{file} is there already: move it away, or name another home with ROOST_HOME")
        self._home.mkdir(mode=0o700, parents=True, exist_ok=True)
        password = secrets.token_urlsafe(PASSWORD_BYTES)
        write_file(file, f"{password}\n".encode())
        with _undone(file):
            await self._claim(Claim(self._clock(), None, str(PasswordHash.make(password.encode(), LIGHT))))
        if offer.authority:
            write_file(authority, offer.authority, 0o644)
        await self._part()
        return EnrolledUser(offer, file, authority if offer.authority else None)

    async def _certified(self, store: KeyStore, offer: KeyOffer, schema: Schema, kind: Kind) -> Certificate:
        key = generate(offer.name, os.urandom, kind)
        with _undone(store.save_key(key)):
            now = self._clock()
            certificate = await self._claim(Claim(now, request(key, now)))
            check_grant(offer, certificate, key, schema, self._clock())
            if certificate is None:  # which `check_grant` has refused
                raise Untrusted("no certificate came with the grant")
            for each in (certificate, *offer.above):
                store.save_certificate(each)
        return certificate

    async def _claim(self, claim: Claim) -> Certificate | None:
        answer = await self._ask(self._prefix / CLAIM, self._machine.claim(claim))
        return self._machine.open_outcome(answer).certificate

    async def _part(self) -> None:
        """Tell the inviter that all is kept; if that is lost, it only waits a little longer."""
        with contextlib.suppress(Unreachable):
            await self._ask(self._prefix / DONE, self._machine.done())

    async def _ask(self, name: Name, box: bytes) -> bytes:
        data = await self._face.fetch(
            name, can_be_prefix=True, must_be_fresh=True, parameters=box, lifetime_ms=LIFETIME_MS, tries=TRIES
        )
        return data.content


def _joined(store: KeyStore, offer: KeyOffer, now: int) -> Schema:
    """The schema of a home that is there, if the offer fits into that home."""
    store.check()
    if offer.anchor.wire not in {anchor.wire for anchor in store.anchors()}:
        ours = ", ".join(str(anchor.name) for anchor in store.anchors()) or "none"
        raise BadConfig(
            f"{store.home} trusts another anchor ({ours}) than who invites ({offer.anchor.name}): two anchors do not "
            "go into one home. Name another directory with ROOST_HOME, or move this one away"
        )
    held = [key.name for key in store.private_keys() if key.name.prefix(-2) == offer.name]
    if held:
        raise BadConfig(f"{store.home} has a key of {offer.name} already, {held[0]}: there is nothing to enrol")
    schema = store.schema()
    try:
        check_offer(replace(offer, schema=schema.text), now)
    except Untrusted as error:
        raise BadConfig(
            f"{error}. That is the schema of this home, {store.schema_file}; who invites has another, which has such "
            "keys: bring that one here first"
        ) from None
    return schema


@contextlib.contextmanager
def _undone(file: Path) -> Iterator[None]:
    """Take a file back if what it was made for fails."""
    try:
        yield
    except BaseException:
        file.unlink(missing_ok=True)
        raise
