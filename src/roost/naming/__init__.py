"""What things are called: names, conventions, MQTT topics ⇄ names, the building model."""

from roost.naming.component import Component
from roost.naming.name import Name, NameLike, as_name, join

__all__ = ["Component", "Name", "NameLike", "as_name", "join"]
