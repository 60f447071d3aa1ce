"""One face as the forwarder keeps it: what the driver said of it, its flags, its counters, its link state.

Congestion marking follows NFD [ndn-packets §8]: the driver reports what is queued in front of a face; a queue that
stays above the threshold for one interval marks one packet, then more and more often until it drains.
"""

from __future__ import annotations

from typing import Final

from roost.forwarding.face import AD_HOC, CONGESTION_MARKING, LOCAL_FIELDS, RELIABILITY, FaceSpec
from roost.wire.link import MIN_MTU, Link
from roost.wire.reassembly import WRAP
from roost.wire.tlv import MAX_PACKET_BYTES

MARKING_INTERVAL_NS: Final = 100_000_000
MARKING_THRESHOLD_BYTES: Final = 65536
_APART: Final = 1 << 32  # more numbers than a peer remembers


class Face:
    """A face: identity, properties that management may change, counters, and the link machine behind it."""

    __slots__ = (
        "_marked",
        "_over_since",
        "_sequence",
        "ad_hoc",
        "congestion_interval_ns",
        "congestion_threshold_bytes",
        "down",
        "expires",
        "flags",
        "id",
        "in_bytes",
        "in_data",
        "in_interests",
        "in_nacks",
        "link",
        "local",
        "local_fields",
        "mtu",
        "multi_access",
        "next_mark",
        "out_bytes",
        "out_data",
        "out_interests",
        "out_nacks",
        "persistency",
        "reliable",
        "spec",
        "waiting",
    )

    def __init__(self, face_id: int, spec: FaceSpec, first_sequence: int = 0) -> None:
        self.id: Final = face_id
        self.spec: Final = spec
        self.local: Final = spec.local
        self.multi_access: Final = spec.link_type != 0
        self.ad_hoc: Final = spec.link_type == AD_HOC
        self.down = False  # the driver has no transport for it at the moment
        self.persistency = spec.persistency
        self.mtu = spec.mtu
        self.flags = 0
        self.local_fields = False
        self.expires: int | None = None
        self.congestion_interval_ns = MARKING_INTERVAL_NS
        self.congestion_threshold_bytes = MARKING_THRESHOLD_BYTES
        self.in_interests = 0
        self.in_data = 0
        self.in_nacks = 0
        self.out_interests = 0
        self.out_data = 0
        self.out_nacks = 0
        self.in_bytes = 0
        self.out_bytes = 0
        self.next_mark = 0  # when the next packet is to be marked; 0 while there is no congestion
        self.waiting = 0  # Interests of this face in the PIT
        self._over_since = 0
        self._marked = 0
        self._sequence = first_sequence  # where the next link machine begins to number
        self.reliable = False
        self.link: Link | None = None  # made when it is first needed: most faces never fragment
        self.set_flags(spec.flags)

    def set_flags(self, flags: int) -> None:
        """Switch local fields, reliability and congestion marking; local fields stay off on a non-local face."""
        if not self.local:
            flags &= ~LOCAL_FIELDS
        self.flags = flags
        self.local_fields = bool(flags & LOCAL_FIELDS)
        reliable = bool(flags & RELIABILITY) and not self.multi_access
        if reliable != self.reliable:
            self.reliable = reliable
            self._drop_link()

    def set_mtu(self, mtu: int) -> None:
        """Change the largest link packet; messages under way in fragments are lost."""
        if mtu != self.mtu:
            self.mtu = mtu
            self._drop_link()

    def busy_link(self) -> Link:
        """Return the link machine, making it if this is the first time."""
        if self.link is None:
            self.link = Link(
                max(self.mtu, MIN_MTU) if self.mtu else MAX_PACKET_BYTES,
                reliable=self.reliable,
                multicast=self.multi_access,
                first_sequence=self._sequence,
            )
        return self.link

    def _drop_link(self) -> None:
        """Let the next link machine number anew, far from what the peer remembers and would take for a duplicate."""
        if self.link is not None:
            self._sequence = (self.link.next_sequence + _APART) & WRAP
            self.link = None

    def queue_reported(self, queued_bytes: int, now: int) -> None:
        """Learn how much waits in front of the face; decides when marking begins and ends."""
        if not self.flags & CONGESTION_MARKING or queued_bytes <= self.congestion_threshold_bytes:
            self._over_since = self.next_mark = self._marked = 0
        elif not self._over_since:
            self._over_since = now
            self.next_mark = now + self.congestion_interval_ns

    def mark_due(self, now: int) -> bool:
        """Whether the packet that leaves now carries a congestion mark; call only while `next_mark` is set."""
        if now < self.next_mark:
            return False
        self._marked += 1
        self.next_mark = now + int(self.congestion_interval_ns / (self._marked + 1) ** 0.5)
        return True
