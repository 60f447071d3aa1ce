"""The built-in families of scenarios, one module each, with `SUMMARY` and `run(seed) -> World`."""
