"""All machines composed into one, still pure."""

from roost.node.node import Node
from roost.node.settings import NodeSettings

__all__ = ["Node", "NodeSettings"]
