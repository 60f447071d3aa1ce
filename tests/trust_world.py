"""A company with real keys and certificates, for trust tests: evaluations.md §4.2 and §4.3."""

import random
from collections.abc import Iterable

from roost.machine import MS, SECOND
from roost.naming import Name
from roost.naming.building import Company
from roost.trust import (
    Accepted,
    Identity,
    Schema,
    Verdict,
    Verifier,
    Wanted,
    building_schema,
    certify,
    generate,
    self_sign,
)
from roost.trust.generate import Kind
from roost.wire import Data, Interest, Signer, make_data, sign_interest
from roost.wire.certificate import Certificate

NOW = 1_800_000_000 * SECOND
COMPANY = Company(Name.parse("/BigCompany"), frozenset({"Building1", "Building2"}), frozenset({"DepartmentA"}))
SCHEMA = building_schema(COMPANY, [COMPANY.group("", "Water")])
ROOT = "/BigCompany/BMS"
BUILDING1 = "/BigCompany/Building1"
PANEL1 = f"{BUILDING1}/Electricity/Panel1"
STREAM = f"{PANEL1}/Heater/Voltage"
READING = f"{STREAM}/seq=1"

# identity → who issues its certificate
CHAINS = {
    "/BigCompany/Building1": ROOT,
    "/BigCompany/Building2": ROOT,
    "/BigCompany/Building1/Electricity": "/BigCompany/Building1",
    "/BigCompany/Building1/Electricity/Panel1": "/BigCompany/Building1",
    "/BigCompany/Building1/Electricity/Panel2": "/BigCompany/Building1",
    "/BigCompany/Building1/Electricity/Repo/Repo1": "/BigCompany/Building1/Electricity",
    "/BigCompany/Building1/Electricity/Repo/Repo2": "/BigCompany/Building1/Electricity",
    "/BigCompany/Water": ROOT,
    "/BigCompany/Water/Repo/Repo1": "/BigCompany/Water",
    "/BigCompany/DepartmentA": ROOT,
    "/BigCompany/DepartmentA/Alice": "/BigCompany/DepartmentA",
    "/BigCompany/DepartmentA/Alice/Phone": "/BigCompany/DepartmentA/Alice",
}


class World:
    """All identities of the company; the same seed makes the same keys."""

    def __init__(self, seed: int = 1, kind: Kind = "ecdsa") -> None:
        self._entropy = random.Random(seed).randbytes
        self._kind: Kind = kind
        self.anchor = self_sign(generate(Name.parse(ROOT), self._entropy, kind), NOW)
        self._held: dict[str, Identity] = {ROOT: self.anchor}
        for identity, issuer in CHAINS.items():
            self.add(identity, issuer)

    def __getitem__(self, identity: str) -> Identity:
        return self._held[identity]

    def add(self, identity: str, issuer: str, *, lifetime: int = 0, now: int = NOW) -> Identity:
        made = self.made(identity, self._held[issuer], lifetime=lifetime, now=now)
        self._held[identity] = made
        return made

    def made(self, identity: str, issuer: Identity, *, lifetime: int = 0, now: int = NOW) -> Identity:
        """An identity whose certificate `issuer` has signed, allowed or not."""
        key = generate(Name.parse(identity), self._entropy, self._kind)
        days = lifetime or 365 * 86_400 * SECOND
        return Identity(key, certify(issuer, key.name, key.public.spki, now, days))

    def certificates(self) -> list[Certificate]:
        return [held.certificate for held in self._held.values()]

    def verifier(self, schema: Schema = SCHEMA) -> Verifier:
        return Verifier(schema, [self.anchor.certificate])


def data(name: str, signer: Identity | Signer, content: bytes = b"21.5") -> Data:
    return make_data(Name.parse(name), content, signer.signer if isinstance(signer, Identity) else signer)


def interest(name: str, signer: Identity, time_ms: int = NOW // MS, nonce: bytes = b"12345678") -> Interest:
    return Interest.decode(sign_interest(Name.parse(name), signer.signer, time_ms=time_ms, signature_nonce=nonce))


def settle(verifier: Verifier, packet: Data | Interest, served: Iterable[Certificate], now: int = NOW) -> Verdict:
    """Play the driver: fetch what is wanted from `served`, until there is a verdict."""
    at_hand = list(served)
    verdict: Verdict = Wanted(packet.name)
    for _ in range(64):
        verdict = verifier.check(packet, now)
        if not isinstance(verdict, Wanted):
            return verdict
        found = [held for held in at_hand if held.name.starts_with(verdict.name)]
        if not found or verifier.learn(found[0].data, now) is not None:
            verifier.missing(verdict.name, now)
    raise AssertionError(f"the verifier asks without end, last for {verdict}")


def rule_of(verdict: Verdict) -> str:
    assert isinstance(verdict, Accepted), verdict
    return verdict.rule
