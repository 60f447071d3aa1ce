"""Figures of Roost, each beside a peer measured in the same run. One package per area: `bench/<area>/<topic>.py`."""
