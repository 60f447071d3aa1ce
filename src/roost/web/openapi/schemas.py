"""What the answers of the API are made of, by name."""

from __future__ import annotations

from typing import Final

from roost.web.openapi.words import (
    TIME,
    Json,
    anything,
    listed,
    number,
    one_of,
    or_null,
    ref,
    shape,
    table,
    text,
    whole,
    yes_no,
)
from roost.web.scopes import SCOPES

HEALTH: Final = one_of("ok", "lagging", "silent", "unknown")
VALUE: Final = anything('A number, a text, true or false, null, a JSON value, or bytes as {"base64": …}')
STREAM_NAME: Final = text("The name of a stream, as a URI", examples=["/BigCompany/Hall/Env/pi1/room1/temp"])
VERDICT: Final = one_of("trusted", "refused", "unverified")
SCOPE: Final = one_of(*SCOPES)

_READING: Final[Json] = {
    "topic": or_null(text("The MQTT topic, if it has one")),
    "time": TIME,
    "value": VALUE,
    "unit": text("Of the value", examples=["Cel"]),
    "quality": text("good, unless somebody said otherwise", examples=["good"]),
}
_STREAM: Final[Json] = {
    "stream": STREAM_NAME,
    "topic": or_null(text("Behind which MQTT topic it is")),
    "group": text(),
    "panel": text(),
    "first": whole("The first number that is here"),
    "last": whole("The last one"),
    "count": whole("How many are here"),
    "time": or_null(TIME),
    "value": VALUE,
    "unit": text(),
    "quality": text("of the last reading; sealed, unreadable or hidden where it has no value that can be shown"),
    "text": text("The value, in short, for people"),
    "interval_ms": or_null(number("How often readings come")),
    "stale": yes_no("Whether one should have come"),
    "virtual": yes_no("Whether a macro or a pipeline makes it"),
}
_LINEAGE_FIELDS: Final[Json] = {
    "stream": STREAM_NAME,
    "number": whole(),
    "low": whole(),
    "high": whole(),
    "name": text(),
    "verdict": VERDICT,
    "reason": text(),
    "count": whole(),
    "held": whole(),
    "jobs": listed(text()),
    "hidden": whole("Inputs that the user may not see"),
    "unnamed": whole("Inputs that nobody named"),
    "inputs": listed(ref("Lineage")),
    "truncated": yes_no(),
}

SCHEMAS: Final[Json] = {
    "Error": shape(
        "What is wrong, and where in a code if it is in one",
        {"error": text(), "line": whole(), "column": whole()},
        may_lack=("line", "column"),
        more=True,
    ),
    "Reading": shape(
        "One reading; stream and number only if it is of a group",
        {**_READING, "topic": text(), "stream": STREAM_NAME, "number": whole(), "error": text()},
        may_lack=("stream", "number", "error"),
    ),
    "Row": shape("One reading of a history", {"stream": STREAM_NAME, "number": whole(minimum=1), **_READING}),
    "Stream": shape("A stream, and its last reading", _STREAM),
    "StreamDetail": shape(
        "A stream, its last reading and what it is about",
        {
            **_STREAM,
            "description": or_null(table(anything(), "What its panel says of it")),
            "sealed": yes_no("Whether its readings are encrypted for roles"),
        },
    ),
    "Group": shape(
        "A group, as far as the user may see it",
        {
            "name": text(examples=["/BigCompany/Hall/Env"]),
            "label": text(),
            "building": text("Empty for the company's own"),
            "streams": whole(),
            "readings": whole(),
            "size_bytes": whole(),
            "rate": number("Readings a second, over the last ten"),
            "last": or_null(TIME),
            "stale": whole("Streams that are"),
            "repos": listed(
                shape(
                    "",
                    {
                        "name": text(),
                        "here": yes_no(),
                        "health": HEALTH,
                        "lag": or_null(whole()),
                        "seen": or_null(TIME),
                    },
                )
            ),
            "panels": listed(shape("", {"name": text(), "streams": whole(), "last": or_null(TIME), "health": HEALTH})),
        },
    ),
    "Node": shape(
        "The node, and what the user may do here",
        {
            "name": text(),
            "version": text(),
            "started": TIME,
            "now": TIME,
            "user": text("Empty if anonymous"),
            "anonymous": yes_no(),
            "may": table(yes_no()),
            "listeners": listed(text()),
            "groups": listed(text()),
            "features": table(yes_no()),
            "compiled": yes_no("Whether the hot modules are"),
            "counters": table(whole(), "By the ends of their `$SYS/broker/` topics"),
        },
    ),
    "Campus": shape(
        "What there is, and how it hangs together",
        {
            "nodes": listed(
                shape(
                    "",
                    {
                        "id": text(),
                        "name": text(),
                        "kind": one_of("node", "repo", "gate", "panel"),
                        "building": text(),
                        "groups": listed(text()),
                        "health": HEALTH,
                        "seen": or_null(TIME),
                        "lag": or_null(whole("Readings")),
                        "uri": or_null(text()),
                        "self": yes_no(),
                    },
                )
            ),
            "groups": listed(ref("Group")),
            "links": listed(
                shape("", {"from": text(), "to": text(), "kind": one_of("sync", "publish", "uplink"), "health": HEALTH})
            ),
        },
    ),
    "Picture": shape(
        "So many points of each stream, for a chart",
        {
            "streams": listed(
                shape(
                    "Points [time, value, number], or buckets [time, least, mean, greatest, readings]",
                    {
                        "stream": STREAM_NAME,
                        "unit": text(),
                        "from": whole(),
                        "to": whole(),
                        "count": whole(),
                        "buckets": listed(listed(number(), minItems=5, maxItems=5)),
                        "points": listed(listed(anything(), minItems=3, maxItems=3)),
                    },
                    may_lack=("buckets", "points"),
                )
            )
        },
    ),
    "Passport": shape(
        "Who made a reading, why it is believed, what it was made of and who has it",
        {
            "name": text(),
            "stream": STREAM_NAME,
            "number": whole(),
            "time": or_null(TIME),
            "received": or_null(TIME),
            "value": VALUE,
            "unit": text(),
            "quality": text(),
            "format": or_null(whole("CoAP Content-Format")),
            "size_bytes": whole(),
            "digest": text("SHA-256 of the packet"),
            "sealed": yes_no(),
            "signer": or_null(text("The name of a key")),
            "signature": shape("", {"type": text(), "valid": yes_no()}),
            "chain": listed(
                shape(
                    "A certificate",
                    {
                        "name": text(),
                        "issuer": or_null(text()),
                        "not_before": or_null(TIME),
                        "not_after": or_null(TIME),
                        "verdict": VERDICT,
                        "reason": text(),
                    },
                )
            ),
            "verdict": VERDICT,
            "rule": or_null(text()),
            "reason": text(),
            "lineage": or_null(table(anything(), "program, job, digest, count, cause, inputs, hidden")),
            "repos": listed(shape("", {"name": text(), "holds": or_null(yes_no())})),
        },
    ),
    "Lineage": shape("A reading, and all that it was made of", _LINEAGE_FIELDS, may_lack=("jobs", "hidden", "unnamed")),
    "Network": shape(
        "The forwarder",
        {
            "faces": listed(
                shape(
                    "",
                    {
                        "id": whole(),
                        "uri": text(),
                        "local_uri": text(),
                        "scope": one_of("local", "network"),
                        **{
                            f"{way}_{what}": whole() for way in ("in", "out") for what in ("interests", "data", "bytes")
                        },
                        "up": yes_no(),
                    },
                )
            ),
            "fib": listed(shape("", {"name": text(), "hops": listed(shape("", {"face": whole(), "cost": whole()}))})),
            "strategies": listed(shape("", {"name": text(), "strategy": text()})),
            "store": shape("", {each: whole() for each in ("entries", "capacity", "hits", "misses")}),
            "pit": shape("", {"entries": whole()}),
            "counters": table(whole()),
        },
    ),
    "Alert": shape(
        "What somebody should look at",
        {
            "id": text(),
            "kind": text(),
            "severity": one_of("warning", "critical"),
            "subject": text(),
            "since": TIME,
            "text": text(),
            "remedy": text(),
            "link": text("A place on the page"),
        },
    ),
    "Pipeline": table(anything(), "A pipeline: name, state, stages with their rates, completeness and last batch"),
    "Views": shape(
        "Who sees what of a topic",
        {
            "topic": text(),
            "document": or_null(text("The topic or filter of the specification")),
            "streams": listed(text()),
            "roles": listed(shape("", {"role": text(), "default": or_null(text()), "streams": listed(text())})),
        },
    ),
    "Definition": shape(
        "A macro",
        {
            "name": text("Without it, it is called by a hash of what it does", examples=["room1/fahrenheit"]),
            "code": text(minLength=1, examples=['Noctua.topic("room1/celsius") * 1.8 + 32']),
        },
        may_lack=("name",),
        more=True,
    ),
    "Macro": shape(
        "A macro, and how it is",
        {
            "definition": ref("Definition"),
            "topic": text("Where its results are"),
            "version": whole(),
            "digest": text(),
            "effective": table(whole(), "From which numbers of each stream on it counts"),
            "position": table(whole(), "Up to which numbers of each stream it has come"),
            "pending": text("Why `effective`, or `position` in the answer to a DELETE, is not there yet"),
            "runs_on": text(),
            "refusal": text("Why it cannot run here"),
            "warning": text("Why nothing may run it"),
            "counters": table(whole()),
            "last_failure": ref("Run"),
        },
        may_lack=("effective", "position", "pending", "refusal", "warning", "counters", "last_failure"),
    ),
    "Run": shape(
        "One run of a macro",
        {
            "macro": text(),
            "version": whole(),
            "time": TIME,
            "took_us": anything("Microseconds"),
            "cause": anything(),
            "inputs": listed(anything()),
            "log": listed(anything()),
        },
        may_lack=("macro", "cause", "inputs", "log"),
        more=True,
    ),
    "Trial": shape(
        "What a macro would have done",
        {
            "runs": listed(ref("Run")),
            "readings": whole(),
            "activations": whole(),
            "waited": whole(),
            "total": whole(),
            "results": whole(),
            "failures": whole(),
            "found": listed(text()),
            "truncated": yes_no(),
        },
    ),
    "Specification": table(anything(), "A role-based publishing specification: topic, streams, roles (docs/roles.md)"),
    "Session": shape(
        "Who one is here",
        {
            "user": text("Empty if anonymous"),
            "anonymous": yes_no(),
            "expires": or_null(TIME),
            "scopes": listed(SCOPE),
        },
        may_lack=("anonymous",),
    ),
    "Token": shape(
        "A token, without its text",
        {
            "id": text(),
            "name": text(),
            "scopes": listed(SCOPE),
            "created": TIME,
            "expires": TIME,
            "used": or_null(TIME),
        },
    ),
    "NewToken": shape(
        "A token, with its text, which is nowhere else",
        {
            "id": text(),
            "name": text(),
            "scopes": listed(SCOPE),
            "created": TIME,
            "expires": TIME,
            "used": or_null(TIME),
            "token": text(pattern="^roost_"),
        },
    ),
    "Demo": table(anything(), "The demo: title, running_s, steps, breaks, promises and guide"),
}
