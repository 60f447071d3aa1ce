"""The contract every protocol obeys, and the notes it writes.

    start(now)   receive(event, now)   tick(now)   <command>(…, now)     → list of effects
    deadline()                                                          → when tick wants to be called next, or None

`now` is integer nanoseconds since 1970 and always an argument; a driver never lets it go back, whatever the wall clock
does. Randomness is handed in (`Randomness`). A machine does no I/O, reads no clock, logs nothing and awaits
nothing: the same object runs under asyncio (`roost.host`) and under the simulator (`roost.sim`).

Bad input from the network is a `Rejected` effect, never an exception. Every collection in a machine has a written
upper bound and a counter for what the bound turned away.
"""

from roost.machine.contract import MS, SECOND, Effect, Machine, Note, Randomness, Rejected, earliest

__all__ = ["MS", "SECOND", "Effect", "Machine", "Note", "Randomness", "Rejected", "earliest"]
