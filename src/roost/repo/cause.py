"""Why a packet came into a store, or left it.

Records [design, replication] speak of what a repo took in itself (`INSERT`, `BULK`) and of what was deleted; events and
partial sync speak of all. `REPLICATION` is what another repo of the group had first, and has recorded.
"""

from typing import Final

INSERT: Final = 1
REPLICATION: Final = 2
BULK: Final = 3
DELETE: Final = 4
