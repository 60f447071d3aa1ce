"""The log on standard error: text for people, or a JSON object in each line for who collects logs.

    {"time":"2026-05-01T08:00:00.123456Z","level":"warning","logger":"roost.node","message":"refused a packet of …",
     "peer":"tcp4://192.0.2.7:40312","reason":"…"}

What a line says beside its message depends on what it is about: `peer` and `reason` of a refusal, `event` and `facts`
of a note, `error` and `trace` of a failure. Nothing is logged that text would not say.
"""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime
from typing import Final

TEXT: Final = "text"
JSON: Final = "json"
_TEXT_FORMAT: Final = "%(asctime)s %(message)s"
_MORE: Final = ("peer", "reason", "event", "facts")


class JsonLines(logging.Formatter):
    """One object for each record."""

    def format(self, record: logging.LogRecord) -> str:
        """Write it in one line."""
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="microseconds")
        said: dict[str, object] = {
            "time": at.replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        said |= {key: record.__dict__[key] for key in _MORE if key in record.__dict__}
        if record.exc_info is not None and record.exc_info[1] is not None:
            error = record.exc_info[1]
            said |= {"error": f"{type(error).__name__}: {error}", "trace": self.formatException(record.exc_info)}
        return (
            json.dumps(said, ensure_ascii=False, separators=(",", ":"), default=str).encode(errors="replace").decode()
        )


def start(form: str, level: str) -> None:
    """Have the log written, ours from this level on and that of others from warnings on."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonLines() if form == JSON else logging.Formatter(_TEXT_FORMAT))
    logging.basicConfig(handlers=[handler], level=logging.WARNING)
    logging.getLogger("roost").setLevel(level.upper())
