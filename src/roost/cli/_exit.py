"""What the exit status of a verb means; docs/cli-conventions.md has the same table, and a test compares them."""

from __future__ import annotations

from typing import Final

DONE: Final = 0
FAILED: Final = 1
USAGE: Final = 2
TIME_IS_UP: Final = 27
INTERRUPTED: Final = 130
UNREAD: Final = 141

MEANINGS: Final = {
    DONE: "done",
    FAILED: "failed, and the error output says why; or what was checked does not hold",
    USAGE: "the command line cannot be understood; nothing was done",
    TIME_IS_UP: "the time of -W is up, as with mosquitto_sub",
    INTERRUPTED: "interrupted by Ctrl-C before it was done",
    UNREAD: "whoever read the output has stopped reading, as `head` does",
}
