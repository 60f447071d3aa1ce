"""The built-in families of scenarios, one module each, with `SUMMARY` and `run(seed) -> World`.

One that also has `plan(seed)` shows with it what a seed comes to.
"""
