"""Names in IPv6 (hybrid ICN): packets, the tables of a forwarder for them, and the messages that control it.

name.py       a name is 16 bytes of IPv6 address and a 32-bit suffix; prefixes for routes
packet.py     `Interest` and `Data`, `encode`, `decode`
head.py       what a forwarder reads of a packet, with every length checked first
signing.py    `sign` and `verify`
"""

from roost.hicn.name import HicnName, Prefix
from roost.hicn.packet import Data, Form, Interest, decode, encode

__all__ = ["Data", "Form", "HicnName", "Interest", "Prefix", "decode", "encode"]
