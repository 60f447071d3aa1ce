"""The only place that touches the real world: sockets, disk, clock, keys on disk, the asyncio client API."""
