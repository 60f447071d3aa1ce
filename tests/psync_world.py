"""A PSync full-sync member by itself, and what others would say to it."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import TypeVar

from roost.machine import MS, Effect
from roost.machine.disk import Save, Saved
from roost.naming import Name
from roost.naming.conventions import segment, version
from roost.sync.compression import NONE, compress, decompress
from roost.sync.dataset import Dataset
from roost.sync.ledger import Ledger
from roost.sync.port import (
    Asked,
    Express,
    Learned,
    Listener,
    Reply,
)
from roost.sync.presets import FullPreset
from roost.sync.psync_full import PSyncFull
from roost.sync.psync_names import full_question
from roost.sync.sync_state import decode_state, encode_state
from roost.wire import Data, DigestSigner, Interest, encode_interest, make_data

GROUP = Name.parse("/S")
NOW = 0x1A1E0996BF5 * MS  # of the reply that the sheet has from a live run
SIX = FullPreset(expected=6, iblt_compression=NONE, content_compression=NONE)
SIX_ZLIB = FullPreset(expected=6)
EMPTY_SIX = bytes(108)

Kind = TypeVar("Kind", bound=Effect)
State = Sequence[tuple[str, int]]


def full(preset: FullPreset = SIX, saved: bytes = b"", seed: int = 1) -> PSyncFull:
    return PSyncFull(GROUP, preset, DigestSigner(), Random(seed), Ledger("numbers", saved))


def only(effects: list[Effect], kind: type[Kind]) -> list[Kind]:
    return [effect for effect in effects if isinstance(effect, kind)]


def one(effects: list[Effect], kind: type[Kind]) -> Kind:
    (found,) = only(effects, kind)
    return found


def settle(member: Listener, effects: list[Effect], now: int) -> list[Effect]:
    """Be the disk: all that is to be saved is saved."""
    saves = only(effects, Save)
    while saves:
        save = saves.pop(0)
        more = member.receive(Saved(save.file, save.ticket), now)
        saves += only(more, Save)
        effects = effects + more
    return effects


def publish(member: PSyncFull, stream: str, high: int, now: int = NOW) -> list[Effect]:
    """Have a stream of the member's come to `high`."""
    name = Name.parse(stream)
    effects = member.produce(name, now) + member.announce(name, high, now)
    return settle(member, effects, now)


def sketch(state: State, preset: FullPreset = SIX) -> bytes:
    data = Dataset(100_000)
    for stream, number in state:
        data.set(Name.parse(stream), number)
    return compress(data.iblt(preset.expected).encode(), preset.iblt_compression)


def question(state: State, preset: FullPreset = SIX, total: int = -1) -> Name:
    """What a member with these streams asks."""
    return full_question(GROUP, sketch(state, preset), sum(n for _, n in state) if total < 0 else total)


def asked(name: Name, token: bytes = b"token", lifetime_ms: int = 1000) -> Asked:
    wire = encode_interest(name, can_be_prefix=True, must_be_fresh=True, lifetime_ms=lifetime_ms)
    return Asked(Interest.decode(wire), token)


def reply_to(name: Name, state: State, preset: FullPreset = SIX, now: int = NOW) -> Data:
    content = compress(
        encode_state([(Name.parse(stream), number) for stream, number in state]), preset.content_compression
    )
    signer = DigestSigner()
    return make_data(name / version(now // MS) / segment(0), content, signer, freshness_ms=1000, final_block=segment(0))


def content_of(reply: Reply, preset: FullPreset = SIX) -> list[tuple[str, int]]:
    raw = decompress(Data.decode(reply.packet).content, preset.content_compression, 1 << 20)
    return [(str(stream), number) for stream, number in decode_state(raw, 10_000)]


def name_of(express: Express) -> Name:
    return Interest.decode(express.interest).name


def learnt(effects: list[Effect]) -> list[tuple[str, int, int]]:
    return [(str(e.stream), e.low, e.high) for e in only(effects, Learned)]


def tick_on(member: PSyncFull) -> tuple[list[Effect], int]:
    """Go to the next deadline."""
    due = member.deadline()
    assert due is not None
    return member.tick(due), due
