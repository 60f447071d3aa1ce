"""What may stand between a socket and the machine: nothing (plain TCP), TLS, WebSocket, or WebSocket over TLS.

A pipe turns bytes into bytes and does no I/O. It says when it is `ready`, for the machine hears of a connection only
when it knows who is there, and when it has `ended`, with the reason. TLS is in `roost.host.mqtt.tls`, WebSocket in
`roost.host.mqtt.websocket`; plain TCP has no pipe at all, so that an idle connection costs nothing.
"""

from __future__ import annotations

from typing import Final, Protocol


class Pipe(Protocol):
    """One connection's way through; both directions."""

    @property
    def ready(self) -> bool:
        """Whether the greeting is over."""

    @property
    def ended(self) -> str:
        """Why nothing more goes through; empty while it does."""

    @property
    def user(self) -> bytes | None:
        """Whom the peer has proved to be."""

    @property
    def is_foreign(self) -> bool:
        """Whether somebody elsewhere may be behind it, though it comes from this machine."""

    @property
    def forwarded_for(self) -> str:
        """From which other machine it comes, as a proxy says; empty if none does."""

    @property
    def held_bytes(self) -> int:
        """What it keeps back of what the peer sent, for it is not whole; a record of TLS does not count."""

    def feed(self, data: bytes) -> tuple[bytes, bytes]:
        """Take in what the socket brought: what is for the machine, and what is to be answered at once."""

    def wrap(self, data: bytes) -> bytes:
        """What to write to the socket so that the peer sees `data`."""

    def farewell(self) -> bytes:
        """What to write to the socket last."""


class Stack:
    """A pipe in a pipe: `outer` is next to the socket, `inner` next to the machine."""

    __slots__ = ("_inner", "_outer")

    def __init__(self, outer: Pipe, inner: Pipe) -> None:
        self._outer: Final = outer
        self._inner: Final = inner

    @property
    def ready(self) -> bool:
        """Whether both greetings are over."""
        return self._inner.ready

    @property
    def ended(self) -> str:
        """Why nothing more goes through."""
        return self._inner.ended or self._outer.ended

    @property
    def user(self) -> bytes | None:
        """Whom the peer has proved to be."""
        return self._outer.user

    @property
    def is_foreign(self) -> bool:
        """Whether somebody elsewhere may be behind it."""
        return self._inner.is_foreign

    @property
    def forwarded_for(self) -> str:
        """From which other machine it comes, as a proxy says."""
        return self._inner.forwarded_for

    @property
    def held_bytes(self) -> int:
        """What is kept back of what the peer sent."""
        return self._inner.held_bytes

    def feed(self, data: bytes) -> tuple[bytes, bytes]:
        """Take in what the socket brought."""
        middle, reply = self._outer.feed(data)
        if not middle:
            return b"", reply
        plain, answer = self._inner.feed(middle)
        return plain, reply + self._outer.wrap(answer) if answer else reply

    def wrap(self, data: bytes) -> bytes:
        """What to write to the socket so that the peer sees `data`."""
        return self._outer.wrap(self._inner.wrap(data))

    def farewell(self) -> bytes:
        """What to write to the socket last."""
        last = self._inner.farewell()
        return (self._outer.wrap(last) if last else b"") + self._outer.farewell()
