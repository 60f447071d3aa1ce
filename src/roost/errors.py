"""Every exception Roost raises, drawn as one tree. Their fault stands apart from ours.

    RoostError
    ├── InvalidInput          what was handed in cannot be right
    │   ├── BadName           a name, component or URI that the specification forbids
    │   ├── BadPacket         bytes that are not a valid packet; says where and why
    │   ├── BadTopic          an MQTT topic that has no name, or a name that has no topic
    │   ├── BadMacro          a macro, or a reference in it, that cannot be one
    │   │   ├── NoMacro       there is none of this name
    │   │   └── MacroExists   there is one of this name already
    │   └── BadConfig         a setting that cannot be used; says which and what to write instead
    │       ├── NoRules       no document says who gets what of this topic
    │       └── RulesExist    one does already
    ├── Untrusted             a signature, key or rule that does not hold; says which rule failed
    │   └── NoKey             the key that is needed is not in the key chain
    ├── Unreachable           the network did not answer
    │   ├── TimedOut          nobody answered in time; says what was asked and where it got stuck
    │   ├── Nacked            a forwarder refused the Interest, with its reason
    │   └── Disconnected      the face is down
    ├── Refused               a peer answered, and said no (management status codes)
    ├── Denied                who asks may not; says why
    └── Backpressure          a bounded queue is full; `retry_after_ms` says when to try again

An exception out of a machine that is not one of these is a bug of Roost's own.
"""

from __future__ import annotations


class RoostError(Exception):
    """The root of everything Roost raises on purpose."""


class InvalidInput(RoostError, ValueError):
    """What was handed in cannot be right."""


class BadName(InvalidInput):
    """A name, component or URI that the specification forbids."""


class BadPacket(InvalidInput):
    """Bytes that are not a valid packet."""


class BadTopic(InvalidInput):
    """An MQTT topic without a name, or a name without a topic."""


class BadMacro(InvalidInput):
    """A macro, or a reference in it, that cannot be one."""


class NoMacro(BadMacro):
    """There is no macro of this name."""


class MacroExists(BadMacro):
    """There is a macro of this name already."""


class BadConfig(InvalidInput):
    """A setting that cannot be used."""


class NoRules(BadConfig):
    """No role-based publishing specification is for exactly this topic."""


class RulesExist(BadConfig):
    """There is a role-based publishing specification for exactly this topic already."""


class Untrusted(RoostError):
    """A signature, key or rule that does not hold."""


class NoKey(Untrusted):
    """The key that is needed is not in the key chain."""


class Unreachable(RoostError):
    """The network did not answer."""


class TimedOut(Unreachable, TimeoutError):
    """Nobody answered in time."""


class Nacked(Unreachable):
    """A forwarder refused the Interest."""

    def __init__(self, message: str, reason: int = 0) -> None:
        super().__init__(message)
        self.reason = reason


class Disconnected(Unreachable, ConnectionError):
    """The face is down."""


class Refused(RoostError):
    """A peer answered, and said no."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


class Denied(RoostError):
    """Who asks may not."""


class Backpressure(RoostError):
    """A bounded queue is full."""

    def __init__(self, message: str, retry_after_ms: int) -> None:
        super().__init__(message)
        self.retry_after_ms = retry_after_ms
