"""What a node is made with."""

from __future__ import annotations

from dataclasses import dataclass, field

from roost.forwarding.commands import CommandPolicy, LocalCommands
from roost.forwarding.settings import ForwarderSettings
from roost.wire import DigestSigner, Signer


@dataclass(frozen=True)
class NodeSettings:
    """Bounds, the policy for commands and the signer of management's answers."""

    forwarder: ForwarderSettings = field(default_factory=ForwarderSettings)
    policy: CommandPolicy = field(default_factory=LocalCommands)
    signer: Signer = field(default_factory=DigestSigner)
    version: str = "roost"  # what status/general says
