"""The document's part about streams, readings and where they come from."""

from __future__ import annotations

from typing import Final

from roost.web.openapi.schemas import STREAM_NAME
from roost.web.openapi.words import (
    Json,
    answers,
    by_pages,
    listed,
    one_of,
    operation,
    page_of,
    part,
    query,
    ref,
    text,
    whole,
    yes_no,
)
from roost.web.scopes import HISTORY, READ

_TAG: Final = "readings"
_LIMIT: Final = query("limit", whole(minimum=1, maximum=1000, default=100), "How many at most")
_AFTER: Final = query("after", text(), "What `next` said on the page before")
_STREAM: Final = query("stream", STREAM_NAME, "Which stream", required=True)
_NUMBER: Final = query(
    "number", whole(minimum=1, maximum=(1 << 63) - 1), "Which reading; the last one if it is left out"
)
_SINCE: Final = query(
    "since",
    text(examples=["24h", "2026-05-01T08:00", "1"]),
    "How long ago, a time, or from which number on; a token needs the scope `history` for it",
)
_UNTIL: Final = query("until", text(examples=["2026-05-02T08:00"]), "Up to when; now if it is left out")
_NAME: Final = "BigCompany/Hall/Env"
_BYTES: Final = text("Apache Arrow IPC", contentMediaType="application/vnd.apache.arrow.stream")
_ONE: Final = {
    "topic": "room1/power",
    "time": 1_777_622_400_000_000_000,
    "value": 71.5,
    "unit": "W",
    "quality": "good",
    "stream": "/BigCompany/Building1/Electricity/Gate1/room1/power",
    "number": 4711,
}

_LISTED: Final = {
    "stream": _ONE["stream"],
    "topic": "room1/power",
    "group": "/BigCompany/Building1/Electricity",
    "panel": "Gate1",
    "first": 1,
    "last": 4711,
    "count": 4711,
    "time": _ONE["time"],
    "value": 71.5,
    "unit": "W",
    "quality": "good",
    "text": "71.5 W",
    "interval_ms": 1000,
    "stale": False,
    "virtual": False,
}

PATHS: Final[dict[str, Json]] = {
    "/groups": {
        "get": operation(
            "listGroups",
            "List groups",
            {200: answers(page_of(ref("Group")), "A page of groups")},
            tag=_TAG,
            scope=READ,
            parameters=(_LIMIT, _AFTER),
        ),
    },
    "/groups/{name}": {
        "get": operation(
            "showGroup",
            "Show one group",
            {200: answers(ref("Group"), "The group")},
            tag=_TAG,
            scope=READ,
            parameters=(part("name", "Its name without the first slash", _NAME),),
        ),
    },
    "/streams": {
        "get": operation(
            "listStreams",
            "List streams, each with its last reading",
            {200: answers(page_of(ref("Stream")), "A page of streams", {"items": [_LISTED], "next": None, "total": 1})},
            tag=_TAG,
            scope=READ,
            parameters=(
                query("group", text(), "Of which group"),
                query("match", text(examples=["temp", "room1/#"]), "Words of the name, or a topic filter with + and #"),
                query("sort", one_of("name", "time"), "In which order"),
                _LIMIT,
                _AFTER,
            ),
        ),
    },
    "/streams/{name}": {
        "get": operation(
            "showStream",
            "Show one stream",
            {200: answers(ref("StreamDetail"), "The stream")},
            tag=_TAG,
            scope=READ,
            parameters=(part("name", "Its name without the first slash", f"{_NAME}/pi1/room1/temp"),),
        ),
    },
    "/history": {
        "get": operation(
            "readHistory",
            "Read the past of streams: rows, or points for a chart",
            {
                200: by_pages(
                    answers(
                        {"oneOf": [page_of(ref("Row")), ref("Picture")]},
                        "Rows as a page or, by `Accept`, a table, the next page in headers; with `points`, a picture",
                        {"items": [_ONE], "next": None, "total": 1},
                        csv=text(),
                        arrow=_BYTES,
                    )
                )
            },
            tag=_TAG,
            scope=HISTORY,
            parameters=(
                query("stream", listed(STREAM_NAME, minItems=1, maxItems=100), "Which streams", required=True),
                _SINCE,
                _UNTIL,
                query("order", one_of("oldest", "newest"), "Which rows come first"),
                query("format", one_of("json", "csv", "arrow"), "As which rows come; else as `Accept` says"),
                query("points", whole(minimum=1, maximum=5000), "How many points of each stream at most"),
                query(
                    "limit",
                    whole(minimum=1, maximum=100_000),
                    "How many rows at most: of JSON up to 1,000 (default: 100), of a table up to 100,000 (default)",
                ),
                _AFTER,
            ),
        ),
    },
    "/topics/{filter}": {
        "get": operation(
            "readTopics",
            "Read what topics said, and what they say",
            {
                200: answers(
                    listed(ref("Reading")),
                    "Readings, oldest first; without `since` the last one of each topic",
                    [_ONE],
                    lines=text("A reading in each line"),
                    events=text("Readings as they come, each as `data`"),
                )
            },
            tag=_TAG,
            scope=READ,
            parameters=(
                part("filter", "A topic filter; write + as %2B and # as %23", "room1/#"),
                _SINCE,
                query("limit", whole(minimum=1, maximum=10_000, default=100), "How many at most"),
            ),
        ),
    },
    "/live": {
        "get": operation(
            "followLive",
            "Follow readings by WebSocket (docs/http.md has the messages)",
            {101: {"description": "The protocol is WebSocket from here on"}},
            tag=_TAG,
            scope=READ,
        ),
    },
    "/events": {
        "get": operation(
            "followEvents",
            "Follow readings as server-sent events",
            {
                200: {
                    "description": "Readings as they come",
                    "content": {"text/event-stream": {"schema": text("Each message is JSON, in `data`")}},
                }
            },
            tag=_TAG,
            scope=READ,
            parameters=(
                query("stream", listed(STREAM_NAME, maxItems=10_000), "Which streams"),
                query("topic", listed(text(), maxItems=10_000), "Which topics or filters"),
                query("all", yes_no(), "All that one may see"),
                query("latest", yes_no(), "Only the newest of each stream"),
                query("every_ms", whole(minimum=50, maximum=60_000), "How often at most"),
            ),
        ),
    },
    "/passport": {
        "get": operation(
            "showPassport",
            "Say who made a reading, and why it is believed",
            {200: answers(ref("Passport"), "All that is known of it")},
            tag=_TAG,
            scope=HISTORY,
            parameters=(_STREAM, _NUMBER),
        ),
    },
    "/lineage": {
        "get": operation(
            "showLineage",
            "Trace a reading back to raw ones",
            {200: answers(ref("Lineage"), "A tree")},
            tag=_TAG,
            scope=HISTORY,
            parameters=(_STREAM, _NUMBER, query("depth", whole(minimum=0, maximum=16), "How far")),
        ),
    },
}
