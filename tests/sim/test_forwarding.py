"""The family `forwarding` notices what it is there to notice."""

from __future__ import annotations

from random import Random

import pytest

from roost.forwarding.face import Arrived, FaceSpec, Send
from roost.forwarding.settings import ForwarderSettings
from roost.naming import Name
from roost.sim import START, Violation
from roost.sim.scenarios.forwarding import Audited, play
from roost.wire import DigestSigner, encode_data, encode_interest


def test_a_forwarder_that_forgets_nonces_is_caught_looping() -> None:
    caught: list[str] = []
    for seed in range(1, 41):
        try:
            play(seed, ForwarderSettings(dead_nonce_limit=1))
        except Violation as violation:
            caught.append(str(violation))
    assert len(caught) >= 3
    assert all("a loop lives" in sentence for sentence in caught)


def audited() -> Audited:
    machine = Audited(ForwarderSettings(), Random(1))
    machine.start(START)
    machine.open_face(256, FaceSpec("sim://x", "sim://y", local=False), START)
    return machine


def test_more_data_than_interests_is_caught() -> None:
    machine = audited()
    data = encode_data(Name.parse("/p/1"), b"", DigestSigner())
    machine.receive(Arrived(256, [encode_interest(Name.parse("/p/1"), nonce=b"1234")]), START)
    machine._booked([Send(256, [data])], START)
    with pytest.raises(Violation, match="flow balance"):
        machine._booked([Send(256, [data])], START)


def test_an_interest_that_leaves_twice_is_caught() -> None:
    machine = audited()
    one, other = (encode_interest(Name.parse("/p/1"), nonce=nonce) for nonce in (b"1234", b"5678"))
    machine._booked([Send(256, [one, other]), Send(257, [one])], START)
    with pytest.raises(Violation, match="/p/1 with nonce 31323334 left by face 256 again"):
        machine._booked([Send(256, [one])], START)
