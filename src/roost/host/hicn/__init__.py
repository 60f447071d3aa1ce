"""hICN over UDP: `HicnServer` drives a forwarder, `hicn_connect` gives an application a face.

The hICN packet is the whole datagram, as hicn-light has it; so either end may be a hicn-light.
"""

from roost.host.hicn.endpoint import HicnEndpoint, hicn_connect
from roost.host.hicn.server import HICN_PORT, HicnServer

__all__ = ["HICN_PORT", "HicnEndpoint", "HicnServer", "hicn_connect"]
