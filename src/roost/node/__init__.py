"""All machines composed into one, still pure."""
