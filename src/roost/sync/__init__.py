"""Who has what: state vectors, IBLT, Bloom filters; SVS, PSync full and partial behind one port.

What people use is named here: which protocol a group speaks, what is learnt, and what a consumer subscribes to. The
port is `roost.sync.port`; the machines are `svs`, `psync_full`, `psync_producer` and `psync_consumer`.
"""

from roost.sync.choice import PSYNC, PSYNC_ADAPTIVE, PSYNC_PARTIAL, SVS2, SVS3, Protocol
from roost.sync.port import Announced, Learned, Ready, Stream
from roost.sync.presets import FullPreset, PartialPreset
from roost.sync.subscriptions import NameList, NameRange, RangeList
from roost.sync.svs_interest import publication_name
from roost.sync.svs_settings import SvsSettings

__all__ = [
    "PSYNC",
    "PSYNC_ADAPTIVE",
    "PSYNC_PARTIAL",
    "SVS2",
    "SVS3",
    "Announced",
    "FullPreset",
    "Learned",
    "NameList",
    "NameRange",
    "PartialPreset",
    "Protocol",
    "RangeList",
    "Ready",
    "Stream",
    "SvsSettings",
    "publication_name",
]
