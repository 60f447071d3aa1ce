"""The pipelines of the forwarder, clause by clause [nfd-management §7]."""

from __future__ import annotations

from itertools import pairwise

import pytest

from roost.forwarding.face import AD_HOC, FIRST_FACE, INTERNAL_FACE, MULTI_ACCESS, Arrived, FaceSpec, Send
from roost.forwarding.forwarder import Forwarder
from roost.forwarding.settings import ForwarderSettings
from roost.forwarding.strategy import STRATEGY_PREFIX
from roost.machine import MS, SECOND, Rejected
from roost.naming import Name
from roost.naming.component import Component
from roost.naming.conventions import segment
from roost.sim import START
from roost.wire import Data, DigestSigner, Interest, LpPacket, decode_lp, encode_data, encode_interest
from roost.wire.lp import CONGESTION, DUPLICATE, NO_ROUTE

SIGNER = DigestSigner()
N = Name.parse


class Bench:
    """One forwarder with faces that tests speak to directly."""

    def __init__(self, **settings: object) -> None:
        self.now = START
        self.nonce = 0
        self.forwarder = Forwarder(ForwarderSettings(**settings), _Zero())  # type: ignore[arg-type]
        self.forwarder.start(self.now)
        self.rejected: list[str] = []

    def face(self, *, local: bool = False, link_type: int = 0, mtu: int = 0, flags: int = 0) -> int:
        face = self.forwarder.free_face_id()
        spec = FaceSpec(f"t://{face}", "t://", local=local, link_type=link_type, mtu=mtu, flags=flags)
        self.forwarder.open_face(face, spec, self.now)
        return face

    def route(self, prefix: str, *hops: int) -> None:
        self.forwarder.fib.set(N(prefix), [(hop, cost) for cost, hop in enumerate(hops)], self.now)

    def give(self, face: int, *packets: bytes) -> dict[int, list[bytes]]:
        effects = self.forwarder.receive(Arrived(face, list(packets)), self.now)
        self.rejected += [effect.reason for effect in effects if isinstance(effect, Rejected)]
        return {effect.face: effect.packets for effect in effects if isinstance(effect, Send)}

    def ask(self, face: int, name: str, **options: object) -> dict[int, list[bytes]]:
        self.nonce += 1
        options.setdefault("nonce", self.nonce.to_bytes(4, "big"))
        return self.give(face, encode_interest(N(name), **options))  # type: ignore[arg-type]

    def after(self, milliseconds: int) -> None:
        self.now += milliseconds * MS
        self.forwarder.tick(self.now)


class _Zero:
    def getrandbits(self, k: int, /) -> int:
        return (1 << k) - 2

    def random(self) -> float:
        return 0.0

    def randint(self, a: int, b: int) -> int:
        return min(a, b)


def data(name: str, *, freshness_ms: int = 0, content: bytes = b"x") -> bytes:
    return encode_data(N(name), content, SIGNER, freshness_ms=freshness_ms)


def reason(sent: dict[int, list[bytes]], face: int) -> int:
    (packet,) = sent[face]
    return decode_lp(packet).nack


def test_interest_goes_up_and_data_comes_down() -> None:
    bench = Bench()
    consumer, producer = bench.face(), bench.face()
    bench.route("/p", producer)
    assert list(bench.ask(consumer, "/p/1")) == [producer]
    answer = data("/p/1")
    assert bench.give(producer, answer) == {consumer: [answer]}
    assert len(bench.forwarder.pit) == 0
    assert bench.forwarder.counters.satisfied == 1


def test_batches_mean_the_same_as_one_at_a_time() -> None:
    together, apart = Bench(), Bench()
    wires = [encode_interest(N(f"/p/{n}"), nonce=n.to_bytes(4, "big")) for n in range(9)]
    answers = [data(f"/p/{n}") for n in range(9)]
    sent: list[list[bytes]] = []
    for bench, size in ((together, 9), (apart, 1)):
        consumer, producer = bench.face(), bench.face()
        bench.route("/p", producer)
        up = [p for low in range(0, 9, size) for p in bench.give(consumer, *wires[low : low + size])[producer]]
        down = [p for low in range(0, 9, size) for p in bench.give(producer, *answers[low : low + size])[consumer]]
        sent.append(up + down)
    assert sent[0] == sent[1] == wires + answers


def test_same_name_from_two_faces_is_asked_once_and_answered_twice() -> None:
    bench = Bench()
    first, second, producer = bench.face(), bench.face(), bench.face()
    bench.route("/p", producer)
    assert list(bench.ask(first, "/p/1")) == [producer]
    assert bench.ask(second, "/p/1") == {}
    assert set(bench.give(producer, data("/p/1"))) == {first, second}
    assert bench.give(producer, data("/p/1")) == {}
    assert bench.forwarder.counters.unsolicited == 1


def test_selectors_make_separate_entries_and_one_data_serves_all() -> None:
    bench = Bench()
    consumer, producer = bench.face(), bench.face()
    bench.route("/p", producer)
    bench.ask(consumer, "/p/1")
    bench.ask(consumer, "/p/1", must_be_fresh=True)
    bench.ask(consumer, "/p", can_be_prefix=True)
    assert len(bench.forwarder.pit) == 3
    sent = bench.give(producer, data("/p/1"))
    assert len(sent[consumer]) == 1
    assert len(bench.forwarder.pit) == 0


def test_retransmission_is_suppressed_then_tries_another_next_hop() -> None:
    bench = Bench()
    consumer, near, far = bench.face(), bench.face(), bench.face()
    bench.route("/p", near, far)
    assert list(bench.ask(consumer, "/p/1")) == [near]
    bench.after(9)
    assert bench.ask(consumer, "/p/1") == {}, "within the first 10 ms"
    bench.after(1)
    assert list(bench.ask(consumer, "/p/1")) == [far], "an unused next hop"
    bench.after(19)
    assert bench.ask(consumer, "/p/1") == {}, "the interval has doubled"
    bench.after(1)
    assert list(bench.ask(consumer, "/p/1")) == [near], "the one used longest ago"


def test_suppression_interval_stops_growing_at_250_ms() -> None:
    bench = Bench()
    consumer, producer = bench.face(), bench.face()
    bench.route("/p", producer)
    bench.ask(consumer, "/p/1")
    waits = []
    for _ in range(8):
        waited = 0
        while not bench.ask(consumer, "/p/1"):
            bench.after(5)
            waited += 5
        waits.append(waited)
    assert waits == [10, 20, 40, 80, 160, 250, 250, 250]


def test_no_route_is_nacked_with_the_interest_inside() -> None:
    bench = Bench()
    consumer = bench.face()
    wire = encode_interest(N("/no/route"), nonce=bytes((1, 2, 3, 4)))
    (packet,) = bench.give(consumer, wire)[consumer]
    assert packet.hex() == "6420fd032005fd0321019650150513070b08026e6f0805726f7574650a0401020304"
    assert len(bench.forwarder.pit) == 0


def test_the_only_next_hop_is_where_it_came_from() -> None:
    bench = Bench()
    face = bench.face()
    bench.route("/p", face)
    assert reason(bench.ask(face, "/p/1"), face) == NO_ROUTE
    radio = bench.face(link_type=AD_HOC)
    bench.route("/r", radio)
    assert list(bench.ask(radio, "/r/1")) == [radio], "an ad hoc link may repeat on the same face"


def test_same_nonce_by_another_way_is_a_loop() -> None:
    bench = Bench()
    consumer, other, producer = bench.face(), bench.face(), bench.face()
    bench.route("/p", producer)
    bench.ask(consumer, "/p/1", nonce=b"abcd")
    assert reason(bench.ask(other, "/p/1", nonce=b"abcd"), other) == DUPLICATE
    assert reason(bench.ask(producer, "/p/1", nonce=b"abcd"), producer) == DUPLICATE
    bench.after(10)
    assert list(bench.ask(consumer, "/p/1", nonce=b"abcd")) == [producer], "the same face may repeat itself"


def test_no_nack_on_a_multi_access_link() -> None:
    bench = Bench()
    shared, producer = bench.face(link_type=MULTI_ACCESS), bench.face()
    assert bench.ask(shared, "/nowhere") == {}
    bench.route("/p", producer)
    bench.ask(shared, "/p/1", nonce=b"abcd")
    assert bench.ask(shared, "/p/1", nonce=b"abcd") == {}
    assert bench.forwarder.dropped["loop"] == 1


def test_a_late_copy_of_an_unanswered_interest_is_a_loop() -> None:
    bench = Bench()
    consumer, other, producer = bench.face(), bench.face(), bench.face()
    bench.route("/p", producer)
    bench.ask(consumer, "/p/1", nonce=b"abcd", lifetime_ms=100)
    bench.after(200)
    assert len(bench.forwarder.pit) == 0
    assert bench.forwarder.counters.unsatisfied == 1
    assert reason(bench.ask(other, "/p/1", nonce=b"abcd"), other) == DUPLICATE
    bench.after(6100)
    assert list(bench.ask(other, "/p/1", nonce=b"abcd")) == [producer]


def test_hop_limit_counts_down_and_ends() -> None:
    bench = Bench()
    consumer, remote, app = bench.face(), bench.face(), bench.face(local=True)
    bench.route("/p", remote)
    bench.route("/q", app)
    (wire,) = bench.ask(consumer, "/p/1", hop_limit=2)[remote]
    assert Interest.decode(wire).hop_limit == 1
    assert reason(bench.ask(consumer, "/p/2", hop_limit=1), consumer) == NO_ROUTE
    assert list(bench.ask(consumer, "/q/2", hop_limit=1)) == [app], "0 hops left may still be served here"
    assert bench.ask(consumer, "/q/3", hop_limit=0) == {}
    assert bench.forwarder.dropped["hop limit"] == 1


def test_a_missing_nonce_is_added() -> None:
    bench = Bench()
    consumer, producer = bench.face(), bench.face()
    bench.route("/p", producer)
    wire = encode_interest(N("/p/1"), lifetime_ms=1000, hop_limit=9, hints=(N("/p"),))
    (sent,) = bench.give(consumer, wire)[producer]
    interest = Interest.decode(sent)
    assert interest.nonce == bytes.fromhex("fffffffe")
    assert (interest.lifetime_ms, interest.hop_limit, interest.hints) == (1000, 8, [N("/p")])


@pytest.mark.parametrize(
    ("ingress_local", "egress_local", "name", "passes"),
    [
        (True, True, "/localhost/x", True),
        (True, False, "/localhost/x", False),
        (False, True, "/localhost/x", False),
        (True, False, "/localhop/x", True),
        (False, True, "/localhop/x", True),
        (False, False, "/localhop/x", False),
        (False, False, "/localhos", True),
    ],
)
def test_scope(ingress_local: bool, egress_local: bool, name: str, passes: bool) -> None:
    bench = Bench()
    ingress, egress = bench.face(local=ingress_local), bench.face(local=egress_local)
    bench.route(name, egress)
    assert (egress in bench.ask(ingress, name)) is passes


def test_localhost_data_from_outside_is_dropped() -> None:
    bench = Bench()
    consumer, remote = bench.face(local=True), bench.face()
    bench.route("/localhost/x", remote)
    bench.ask(consumer, "/localhost/x")
    assert bench.give(remote, data("/localhost/x")) == {}
    assert bench.forwarder.dropped["scope"] == 1


def test_forwarding_hint_decides_the_way_and_the_region_strips_it() -> None:
    bench = Bench(regions=(N("/campus/hall"),))
    consumer, far, here = bench.face(), bench.face(), bench.face()
    bench.route("/isp", far)
    bench.route("/p", here)
    assert list(bench.ask(consumer, "/p/1", hints=(N("/unknown"), N("/isp")))) == [far]
    (wire,) = bench.ask(consumer, "/p/2", hints=(N("/campus"),))[here]
    assert not Interest.decode(wire).has_hint
    assert reason(bench.ask(consumer, "/p/3", hints=(N("/unknown"),)), consumer) == NO_ROUTE


def test_nack_comes_down_when_every_upstream_refused_with_the_least_severe_reason() -> None:
    bench = Bench()
    consumer, near, far = bench.face(), bench.face(), bench.face()
    bench.route("/p", near, far)
    (first,) = bench.ask(consumer, "/p/1")[near]
    bench.after(10)
    (second,) = bench.ask(consumer, "/p/1")[far]
    assert bench.give(near, LpPacket(first, nack=NO_ROUTE).encode()) == {}
    assert reason(bench.give(far, LpPacket(second, nack=CONGESTION).encode()), consumer) == CONGESTION
    assert len(bench.forwarder.pit) == 0


def test_nack_goes_to_the_downstream_that_is_also_the_last_upstream() -> None:
    bench = Bench()
    consumer, near, peer = bench.face(), bench.face(), bench.face()
    bench.route("/p", near, peer)
    (first,) = bench.ask(consumer, "/p/1")[near]
    bench.after(10)
    assert peer in bench.ask(consumer, "/p/1")
    bench.ask(peer, "/p/1")
    assert reason(bench.give(near, LpPacket(first, nack=NO_ROUTE).encode()), peer) == NO_ROUTE


def test_stray_nacks_are_dropped() -> None:
    bench = Bench()
    consumer, producer, other = bench.face(), bench.face(), bench.face()
    bench.route("/p", producer)
    (wire,) = bench.ask(consumer, "/p/1")[producer]
    assert bench.give(other, LpPacket(wire, nack=NO_ROUTE).encode()) == {}
    stale = encode_interest(N("/p/1"), nonce=b"zzzz")
    assert bench.give(producer, LpPacket(stale, nack=NO_ROUTE).encode()) == {}
    assert bench.forwarder.dropped["stray Nack"] == 2


def test_multicast_asks_everyone_once_and_never_says_no_route() -> None:
    bench = Bench()
    bench.forwarder.strategies.set(N("/sync"), STRATEGY_PREFIX / "multicast")
    consumer, a, b = bench.face(), bench.face(), bench.face()
    assert bench.ask(consumer, "/sync/1") == {}
    bench.route("/sync", a, b)
    sent = {effect.face for effect in bench.forwarder.flush(bench.now) if isinstance(effect, Send)}
    assert sent == {a, b}, "a next hop added while the Interest is pending gets it"
    assert set(bench.ask(consumer, "/sync/2")) == {a, b}
    assert bench.ask(consumer, "/sync/2") == {}
    bench.after(10)
    assert set(bench.ask(consumer, "/sync/2")) == {a, b}


def test_cache_answers_within_freshness_and_by_prefix_and_digest() -> None:
    bench = Bench()
    consumer, producer = bench.face(), bench.face()
    bench.route("/p", producer)
    bench.ask(consumer, "/p/1")
    wire = data("/p/1", freshness_ms=100)
    bench.give(producer, wire)
    assert bench.ask(consumer, "/p/1", must_be_fresh=True) == {consumer: [wire]}
    assert bench.ask(consumer, "/p", can_be_prefix=True) == {consumer: [wire]}
    full = str(Data.decode(wire).full_name)
    assert bench.ask(consumer, full) == {consumer: [wire]}
    bench.after(100)
    assert list(bench.ask(consumer, "/p/1", must_be_fresh=True)) == [producer], "no longer fresh"
    assert bench.ask(consumer, "/p/1") == {consumer: [wire]}
    assert (bench.forwarder.store.hits, bench.forwarder.store.misses) == (4, 2)


def test_pending_digest_interest_takes_only_its_data() -> None:
    bench = Bench()
    consumer, producer = bench.face(), bench.face()
    bench.route("/p", producer)
    right, wrong = data("/p/1", content=b"right"), data("/p/1", content=b"wrong")
    bench.ask(consumer, str(Data.decode(right).full_name))
    assert bench.give(producer, wrong) == {}
    assert bench.give(producer, right) == {consumer: [right]}


def test_no_cache_is_respected() -> None:
    bench = Bench()
    consumer, producer = bench.face(), bench.face()
    bench.route("/p", producer)
    bench.ask(consumer, "/p/1")
    bench.give(producer, LpPacket(data("/p/1"), no_cache=True).encode())
    assert len(bench.forwarder.store) == 0


@pytest.mark.parametrize(
    ("policy", "local", "kept"),
    [("drop-all", True, 0), ("admit-local", True, 1), ("admit-local", False, 0), ("admit-network", False, 1)],
)
def test_unsolicited_data(policy: str, local: bool, kept: int) -> None:
    bench = Bench(unsolicited=policy)
    assert bench.give(bench.face(local=local), data("/p/1")) == {}
    assert len(bench.forwarder.store) == kept


def test_pit_token_comes_back_on_data_and_nack_and_never_goes_up() -> None:
    bench = Bench()
    consumer, producer = bench.face(), bench.face()
    bench.route("/p", producer)
    wire = encode_interest(N("/p/1"), nonce=b"abcd")
    assert bench.give(consumer, LpPacket(wire, pit_token=b"\xaa\xbb").encode()) == {producer: [wire]}
    (answer,) = bench.give(producer, data("/p/1"))[consumer]
    assert decode_lp(answer).pit_token == b"\xaa\xbb"
    nowhere = encode_interest(N("/q"), nonce=b"abcd")
    (refusal,) = bench.give(consumer, LpPacket(nowhere, pit_token=b"\xcc").encode())[consumer]
    assert decode_lp(refusal).pit_token == b"\xcc"


def test_local_fields_on_request_only() -> None:
    bench = Bench()
    consumer, producer, other = bench.face(local=True), bench.face(local=True), bench.face()
    bench.route("/p", producer)
    directed = LpPacket(encode_interest(N("/p/1"), nonce=b"abcd"), next_hop_face=other).encode()
    assert bench.give(consumer, directed) == {}
    assert "NextHopFaceId" in bench.rejected[0]
    bench.forwarder.faces[consumer].set_flags(1)
    assert list(bench.give(consumer, directed)) == [other]
    (answer,) = bench.give(other, data("/p/1"))[consumer]
    assert decode_lp(answer).incoming_face == other
    remote = bench.face()
    bench.forwarder.faces[remote].set_flags(1)
    assert not bench.forwarder.faces[remote].local_fields


def test_congestion_mark_travels_with_the_packet() -> None:
    bench = Bench()
    consumer, producer = bench.face(), bench.face()
    bench.route("/p", producer)
    bench.ask(consumer, "/p/1")
    (answer,) = bench.give(producer, LpPacket(data("/p/1"), congestion_mark=1).encode())[consumer]
    assert decode_lp(answer).congestion_mark == 1


def test_a_queue_that_stays_long_marks_ever_more_often() -> None:
    bench = Bench()
    consumer, producer = bench.face(flags=4), bench.face()
    bench.route("/p", producer)
    marked = []
    for n in range(600):
        bench.forwarder.queue_reported(consumer, 70_000, bench.now)
        bench.ask(consumer, f"/p/{n}")
        (answer,) = bench.give(producer, data(f"/p/{n}"))[consumer]
        if answer[0] == 100:
            marked.append(n)
        bench.after(1)
    gaps = [high - low for low, high in pairwise(marked)]
    assert marked[0] == 100, "not before 100 ms above the threshold"
    assert gaps == sorted(gaps, reverse=True)
    assert gaps[-1] < gaps[0]
    bench.forwarder.queue_reported(consumer, 0, bench.now)
    bench.ask(consumer, "/p/last")
    assert bench.give(producer, data("/p/last"))[consumer][0][0] == 6


def test_large_data_is_cut_to_the_mtu_and_put_together_by_the_next_forwarder() -> None:
    one, other = Bench(), Bench()
    consumer, up, down, producer = one.face(), one.face(mtu=300), other.face(mtu=300), other.face()
    one.route("/p", up)
    other.route("/p", producer)
    other.give(down, *one.ask(consumer, "/p/1")[up])
    cut = other.give(producer, data("/p/1", content=bytes(2000)))[down]
    assert len(cut) > 1
    assert all(len(packet) <= 300 for packet in cut)
    assert one.give(up, *cut) == {consumer: [data("/p/1", content=bytes(2000))]}
    assert not one.rejected + other.rejected


def test_a_reliable_link_survives_updates_of_its_face() -> None:
    one, other = Bench(), Bench()
    consumer, up, down, producer = one.face(), one.face(mtu=1400, flags=2), other.face(mtu=1400, flags=2), other.face()
    one.route("/p", up)
    other.route("/p", producer)

    def arrives(name: str) -> bool:
        return producer in other.give(down, *one.ask(consumer, name)[up])

    assert arrives("/p/1")
    one.forwarder.faces[up].set_flags(2 | 4)  # congestion marking, which does not concern the link
    assert arrives("/p/2")
    one.forwarder.faces[up].set_mtu(1300)  # a new link machine, whose packets are not those seen before
    assert arrives("/p/3")
    one.forwarder.faces[up].set_flags(0)
    one.forwarder.faces[up].set_flags(2)
    assert arrives("/p/4")


def test_only_links_with_something_to_do_have_a_deadline() -> None:
    bench = Bench()
    consumer, producer = bench.face(mtu=1400), bench.face()
    bench.route("/p", producer)
    bench.give(consumer, LpPacket(encode_interest(N("/p/1"), nonce=b"abcd"), pit_token=b"t").encode())
    bench.give(producer, data("/p/1"))
    assert bench.forwarder.deadline() is None
    first = LpPacket(data("/p/1")[:20])
    first.sequence, first.frag_count = 1, 2
    bench.give(consumer, first.encode())
    assert bench.forwarder.deadline() == bench.now + 500 * MS
    bench.after(500)
    assert bench.forwarder.deadline() is None


def test_closing_a_face_forgets_its_routes_and_what_waits_on_it() -> None:
    bench = Bench()
    consumer, other, producer = bench.face(), bench.face(), bench.face()
    bench.route("/p", producer)
    bench.ask(consumer, "/p/1")
    bench.ask(consumer, "/p/2")
    bench.ask(other, "/p/2")
    bench.forwarder.close_face(consumer, bench.now)
    assert len(bench.forwarder.pit) == 1
    assert list(bench.give(producer, data("/p/2"))) == [other]
    bench.forwarder.close_face(producer, bench.now)
    assert len(bench.forwarder.fib) == 0
    assert bench.forwarder.close_face(INTERNAL_FACE, bench.now) == []


def test_tables_are_bounded_and_say_so() -> None:
    bench = Bench(pit_limit=4, store_packets=2, face_limit=5)
    consumer, other, producer = bench.face(), bench.face(), bench.face()
    bench.route("/p", producer)
    bench.ask(consumer, "/p/1")
    bench.ask(consumer, "/p/2")
    assert reason(bench.ask(consumer, "/p/3"), consumer) == CONGESTION, "one face may fill half of the table"
    bench.ask(other, "/p/4")
    bench.ask(other, "/p/5")
    assert reason(bench.ask(bench.face(), "/p/6"), FIRST_FACE + 3) == CONGESTION, "the table is full"
    assert bench.forwarder.pit.refused == 2
    for n in range(1, 6):
        bench.give(producer, data(f"/p/{n}"))
        bench.ask(consumer, f"/p/x{n}")
        bench.give(producer, data(f"/p/x{n}"))
    assert len(bench.forwarder.store) == 2
    assert bench.face() not in bench.forwarder.faces


def test_pending_bytes_are_bounded_too() -> None:
    bench = Bench(pit_bytes=20_000)
    consumer, producer = bench.face(), bench.face()
    bench.route("/p", producer)
    accepted = sum(producer in bench.ask(consumer, f"/p/{n}", parameters=bytes(5000)) for n in range(10))
    assert accepted == 4
    bench.after(5000)
    assert bench.forwarder.pit.size_bytes == 0
    assert bench.forwarder.faces[consumer].waiting == 0


def test_a_repeated_nonce_of_the_same_face_is_no_loop_whatever_came_between() -> None:
    bench = Bench()
    a, b, producer = bench.face(), bench.face(), bench.face()
    bench.route("/p", producer)
    bench.ask(a, "/p/1", nonce=b"aaaa")
    bench.after(10)
    bench.ask(b, "/p/1", nonce=b"bbbb")
    bench.after(20)
    assert list(bench.ask(a, "/p/1", nonce=b"aaaa")) == [producer]


def test_a_new_next_hop_gets_the_interest_of_somebody_else() -> None:
    bench = Bench()
    bench.forwarder.strategies.set(N("/sync"), STRATEGY_PREFIX / "multicast")
    a, b = bench.face(), bench.face()
    bench.ask(a, "/sync/1")
    bench.ask(b, "/sync/1")
    bench.route("/sync", b)
    sent = {effect.face for effect in bench.forwarder.flush(bench.now) if isinstance(effect, Send)}
    assert sent == {b}, "it asked last, but a waits too"


def test_an_interest_that_grows_too_large_on_the_way_leaves_nothing_behind() -> None:
    bench = Bench()
    consumer, producer = bench.face(), bench.face()
    bench.route("/p", producer)
    wire = next(w for size in range(8700, 8800) if len(w := encode_interest(N("/p/1"), parameters=bytes(size))) == 8799)
    assert bench.give(consumer, wire) == {}
    assert "limit is 8800" in bench.rejected[0]
    assert len(bench.forwarder.pit) == 0


def test_a_data_without_a_name_answers_nobody() -> None:
    bench = Bench(unsolicited="admit-all")
    consumer, producer = bench.face(), bench.face()
    bench.route("/p", producer)
    bench.give(producer, encode_data(Name(), b"poison", SIGNER, freshness_ms=10_000))
    assert list(bench.ask(consumer, "/p", can_be_prefix=True, must_be_fresh=True)) == [producer]


def test_names_of_absurd_length_are_not_forwarded() -> None:
    bench = Bench()
    consumer, producer = bench.face(), bench.face()
    bench.route("/p", producer)
    assert bench.give(consumer, encode_interest(Name.of("p", *["x"] * 300), nonce=b"abcd")) == {}
    assert bench.forwarder.dropped["name too long"] == 1


def test_garbage_is_rejected_with_a_reason_and_costs_only_itself() -> None:
    bench = Bench()
    consumer, producer = bench.face(), bench.face()
    bench.route("/p", producer)
    good = encode_interest(N("/p/1"), nonce=b"abcd")
    assert bench.give(consumer, b"", b"\x99\x01\x02", b"\x05\x01", good) == {producer: [good]}
    assert len(bench.rejected) == 3


def test_lifetime_is_capped_and_zero_expires_at_once() -> None:
    bench = Bench()
    consumer, producer = bench.face(), bench.face()
    bench.route("/p", producer)
    bench.ask(consumer, "/p/1", lifetime_ms=2**40)
    deadline = bench.forwarder.deadline()
    assert deadline is not None
    assert deadline <= bench.now + 10 * 86_400 * SECOND + SECOND
    bench.ask(consumer, "/p/2", lifetime_ms=0)
    bench.after(10)
    assert len(bench.forwarder.pit) == 1


def test_typed_components_and_long_names_are_just_names() -> None:
    bench = Bench()
    consumer, producer = bench.face(), bench.face()
    bench.route("/p", producer)
    name = N("/p") / segment(5) / Component(bytes(300)) / Component(b"")
    bench.give(consumer, encode_interest(name, nonce=b"abcd"))
    answer = encode_data(name, b"", SIGNER)
    assert bench.give(producer, answer) == {consumer: [answer]}
