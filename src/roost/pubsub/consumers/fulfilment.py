"""A consumer's orders carried out: readings asked for by name or in bundles, verified one by one, handed to delivery.

    one or two       <stream>/seq=<n>, with the group's service as forwarding hint: a sleeping panel is left in peace
    more             a Bundle question to the service (`roost.repo.question`); each reading in it is verified by itself
    that came along  with the news of it, inside a reply of partial sync [NDN-PS, footnote 2]

An order is over when everything asked for has been answered, verified or given up; what it lacks then is delivery's
business (`consumers.delivery`).
"""

from __future__ import annotations

from typing import Final

from roost.errors import BadPacket
from roost.forwarding.pending import Question
from roost.machine import Effect, Rejected
from roost.naming import Name
from roost.naming.building import numbered
from roost.naming.component import SEQUENCE
from roost.pubsub.asking import Asking, Fetched
from roost.pubsub.consumers.delivery import Delivery, Order
from roost.repo.question import ASK, Bundle, decode_bundle, encode_question
from roost.wire import Data

_SAMPLE_BYTES: Final = 64


class _Round:
    """What came of an order so far."""

    __slots__ = ("dropped", "order", "readings", "waiting")

    def __init__(self, order: Order, waiting: int, dropped: tuple[tuple[int, int], ...] = ()) -> None:
        self.order: Final = order
        self.waiting = waiting
        self.dropped: Final = dropped
        self.readings: Final[dict[int, Data]] = {}  # bound: the order's


class Fulfilment:
    """Between delivery, which orders, and the face, which asks."""

    def __init__(self, asking: Asking, service: Name, delivery: Delivery, lifetime_ms: int) -> None:
        self._asking: Final = asking
        self._service: Final = service
        self._delivery: Final = delivery
        self._lifetime_ms: Final = lifetime_ms

    def go_on(self, now: int) -> list[Effect]:
        """Ask for all that is ordered now."""
        effects: list[Effect] = []
        while (order := self._delivery.order()) is not None:
            effects += self._ask_bundle(order, now) if order.bundle else self._ask_names(order, now)
        return effects

    def take(self, data: Data, now: int) -> list[Effect]:
        """Use a reading that came with the news of it, if it is the next one."""
        name = data.name
        if len(name) < 2 or name.at(-1).type != SEQUENCE:
            return []
        stream, number = name.prefix(-1), int.from_bytes(name.at(-1).value, "big")
        order = self._delivery.accept(stream, number)
        if order is None:
            return []
        round_ = _Round(order, 1)
        if numbered(stream, number) != name:  # the number is written in another form: this is no reading
            return self._came(round_, number, None, now)
        return self._check(round_, number, data, now)

    def _ask_names(self, order: Order, now: int) -> list[Effect]:
        numbers = range(order.low, order.high + 1)
        round_ = _Round(order, len(numbers))
        effects: list[Effect] = []
        for number in numbers:
            name = numbered(order.flow.stream, number)
            question = Question(name, lifetime_ms=self._lifetime_ms, hints=(self._service,))
            effects += self._asking.fetch(question, self._fetched(round_, number), now)
        return effects

    def _fetched(self, round_: _Round, number: int) -> Fetched:
        def fetched(data: Data | None, why: str, now: int) -> list[Effect]:  # noqa: ARG001  a continuation's shape
            return self._came(round_, number, data, now)

        return fetched

    def _ask_bundle(self, order: Order, now: int) -> list[Effect]:
        asked = Bundle(order.flow.stream, order.low, order.high)
        name = self._service / ASK / encode_question(asked)
        question = Question(name, can_be_prefix=True, must_be_fresh=True, lifetime_ms=self._lifetime_ms)

        def answered(data: Data | None, why: str, now: int) -> list[Effect]:  # noqa: ARG001  a continuation's shape
            if data is None:
                return self._delivery.came(order, {}, (), now)
            try:
                bundle = decode_bundle(data.content, asked)
            except BadPacket as error:
                rejected = Rejected(str(self._service), str(error), data.wire[:_SAMPLE_BYTES])
                return [rejected, *self._delivery.came(order, {}, (), now)]
            if not bundle.readings:
                return self._delivery.came(order, {}, bundle.dropped, now)
            round_ = _Round(order, len(bundle.readings), bundle.dropped)
            effects: list[Effect] = []
            for number, reading in bundle.readings:
                effects += self._check(round_, number, reading, now)
            return effects

        return self._asking.fetch(question, answered, now)

    def _check(self, round_: _Round, number: int, data: Data, now: int) -> list[Effect]:
        def checked(refusal: str, now: int) -> list[Effect]:
            if not refusal:
                return self._came(round_, number, data, now)
            return [self._asking.rejected(data, refusal), *self._came(round_, number, None, now)]

        return self._asking.check(data, checked, now)

    def _came(self, round_: _Round, number: int, data: Data | None, now: int) -> list[Effect]:
        if data is not None:
            round_.readings[number] = data
        round_.waiting -= 1
        return [] if round_.waiting else self._delivery.came(round_.order, round_.readings, round_.dropped, now)
