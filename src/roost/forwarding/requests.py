"""The client's side of NFD management: commands, their answers, and the status datasets [nfd-management §1–§5].

For tools that look at a forwarder and change it, ours or NFD. Times strictly increase, because a forwarder refuses a
`rib` command whose time is not newer than the last of the same key; commands of one key are to be sent one at a time.
Sending and waiting is not done here; an application that only registers prefixes has `roost.forwarding.registrar`.
"""

from __future__ import annotations

from typing import Final

from roost.errors import BadPacket
from roost.forwarding.control import CHILD_INHERIT, ORIGIN_APP, ControlParameters, ControlResponse
from roost.forwarding.records import Record
from roost.forwarding.status import (
    ChannelStatus,
    CsInfo,
    FaceEvent,
    FaceQuery,
    FaceStatus,
    FibEntry,
    GeneralStatus,
    RibEntry,
    StrategyChoice,
)
from roost.machine import MS, Randomness
from roost.naming import Component, Name
from roost.wire import Data, Signer, sign_interest
from roost.wire.data import NACK

LOCALHOST: Final = Name.parse("/localhost/nfd")
FACE_EVENTS: Final = LOCALHOST / "faces" / "events"
COMMAND_LIFETIME_MS: Final = 10_000

RECORDS: Final[dict[str, type[Record]]] = {
    "faces/list": FaceStatus,
    "faces/query": FaceStatus,
    "faces/channels": ChannelStatus,
    "fib/list": FibEntry,
    "rib/list": RibEntry,
    "strategy-choice/list": StrategyChoice,
    "cs/info": CsInfo,
}


class CommandWriter:
    """Writes signed command Interests, for one key if nothing else is said."""

    def __init__(self, signer: Signer, randomness: Randomness, prefix: Name = LOCALHOST) -> None:
        self._signer = signer
        self._randomness = randomness
        self._prefix = prefix
        self._last_ms = 0

    def write(self, module: str, verb: str, parameters: ControlParameters, now: int) -> bytes:
        """Write any command."""
        nonce = self._randomness.getrandbits(32).to_bytes(4, "big")
        return self.sign(self._prefix / module / verb, parameters, now, COMMAND_LIFETIME_MS, nonce)

    def sign(
        self,
        command: Name,
        parameters: ControlParameters,
        now: int,
        lifetime_ms: int,
        nonce: bytes = b"",
        signer: Signer | None = None,
    ) -> bytes:
        """Write a command by its full name; without a Nonce, for whoever gives it a fresh one with each sending."""
        self._last_ms = max(now // MS, self._last_ms + 1)
        return sign_interest(
            command / Component(parameters.encode()),
            signer or self._signer,
            nonce=nonce,
            signature_nonce=self._randomness.getrandbits(64).to_bytes(8, "big"),
            time_ms=self._last_ms,
            lifetime_ms=lifetime_ms,
        )

    def register(
        self,
        prefix: Name,
        now: int,
        *,
        face: int | None = None,
        origin: int = ORIGIN_APP,
        cost: int = 0,
        flags: int = CHILD_INHERIT,
        expiration_ms: int | None = None,
    ) -> bytes:
        """Ask for Interests under a prefix, for this face unless another is named."""
        parameters = ControlParameters(
            name=prefix, face=face, origin=origin, cost=cost, flags=flags, expiration_ms=expiration_ms
        )
        return self.write("rib", "register", parameters, now)

    def unregister(self, prefix: Name, now: int, *, face: int | None = None, origin: int = ORIGIN_APP) -> bytes:
        """Take a registration back."""
        return self.write("rib", "unregister", ControlParameters(name=prefix, face=face, origin=origin), now)

    def create_face(self, uri: str, now: int, *, persistency: int | None = None, mtu: int | None = None) -> bytes:
        """Ask for a face towards a canonical URI."""
        return self.write("faces", "create", ControlParameters(uri=uri, persistency=persistency, mtu=mtu), now)

    def update_face(self, face: int, flags: int, mask: int, now: int) -> bytes:
        """Switch flags of a face, 0 being one's own."""
        return self.write("faces", "update", ControlParameters(face=face or None, flags=flags, mask=mask), now)

    def destroy_face(self, face: int, now: int) -> bytes:
        """Ask for a face to be closed."""
        return self.write("faces", "destroy", ControlParameters(face=face), now)

    def set_strategy(self, prefix: Name, strategy: Name, now: int) -> bytes:
        """Choose a strategy for a prefix."""
        return self.write("strategy-choice", "set", ControlParameters(name=prefix, strategy=strategy), now)

    def unset_strategy(self, prefix: Name, now: int) -> bytes:
        """Let the next shorter prefix decide."""
        return self.write("strategy-choice", "unset", ControlParameters(name=prefix), now)


def read_response(data: Data) -> ControlResponse:
    """Read the answer to a command; `expect()` of the result raises `Refused` where it is a no."""
    return ControlResponse.decode(data.content)


def dataset_name(dataset: str, query: FaceQuery | None = None) -> Name:
    """Name a dataset such as `faces/list`; ask for it with CanBePrefix and MustBeFresh, then for the segments."""
    name = LOCALHOST + Name.parse(f"/{dataset}")
    return name if query is None else name / Component(query.encode())


def check_segment(data: Data) -> None:
    """Raise `Refused` where a dataset was answered with an error instead of a segment."""
    if data.content_type == NACK:
        ControlResponse.decode(data.content).expect()


def read_dataset(dataset: str, content: bytes) -> list[Record]:
    """Read the content of a dataset, all segments put together."""
    if dataset == "status/general":
        return [GeneralStatus.from_value(content)]
    records = RECORDS.get(dataset)
    if records is None:
        raise BadPacket(f"there is no dataset {dataset}; known are status/general, {', '.join(RECORDS)}")
    return list(records.decode_all(content))


def read_event(data: Data) -> FaceEvent:
    """Read one notification of `faces/events`."""
    return FaceEvent.decode(data.content)
