"""Roost: publish, process and subscribe over named, signed data."""

__version__ = "0.1.0"
