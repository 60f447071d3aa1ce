"""What a cluster refuses, before it starts; a job that loses an executor of one is in `test_faults`."""

from __future__ import annotations

import pytest

from roost.errors import BadConfig
from roost.pipeline.cluster import Cluster


def test_only_a_worker_of_the_cluster_can_be_killed() -> None:
    with pytest.raises(BadConfig, match="is no worker of this cluster"):
        Cluster().kill(1)
