"""The figures of the ground: codec, forwarder, tables, trust."""
