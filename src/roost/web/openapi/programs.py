"""The document's part about macros and roles."""

from __future__ import annotations

from typing import Final

from roost.web.openapi.words import (
    Json,
    answers,
    anything,
    by_pages,
    header,
    listed,
    one_of,
    operation,
    part,
    query,
    ref,
    shape,
    text,
    whole,
)
from roost.web.scopes import MACROS, ROLES

_MACROS: Final = "macros"
_ROLES: Final = "roles"
_NAME: Final = part("name", "The name of a macro", "room1/fahrenheit")
_TOPIC: Final = part("topic", "A topic or filter; write + as %2B and # as %23", "room1/power")
_PAGE: Final = (
    query("limit", whole(minimum=1, maximum=10_000, default=10_000), "How many at most"),
    query("after", text(), "What `Roost-Next` said on the page before"),
)
_MATCH: Final = (
    header("If-Match", "Only if it is still the same: what `ETag` said"),
    header("If-None-Match", "`*`: only if there is none"),
)
_DEFINITION: Final = {"name": "room1/fahrenheit", "code": 'Noctua.topic("room1/celsius") * 1.8 + 32'}
_DOCUMENT: Final = {"topic": "room1/power", "roles": {"customer": {"streams": ["{topic}/anonymize"]}}}
_SHOWN: Final = answers(ref("Macro"), "The macro")
_SPECIFIED: Final = answers(ref("Specification"), "The document")

PATHS: Final[dict[str, Json]] = {
    "/macros": {
        "get": operation(
            "listMacros",
            "List the macros that you may see",
            {200: by_pages(answers(listed(text(), maxItems=10_000), "Names, in order", ["room1/fahrenheit"]))},
            tag=_MACROS,
            scope=MACROS,
            parameters=(*_PAGE, query("engine", one_of("node", "spark"), "Those that this runs")),
        ),
        "post": operation(
            "makeMacro",
            "Make a macro",
            {201: answers(ref("Macro"), "It is made; `Location` is where")},
            tag=_MACROS,
            scope=MACROS,
            body=ref("Definition"),
            example=_DEFINITION,
            wrong=(409,),
        ),
    },
    "/macros/{name}": {
        "get": operation(
            "showMacro",
            "Show one",
            {200: _SHOWN},
            tag=_MACROS,
            scope=MACROS,
            parameters=(_NAME,),
        ),
        "put": operation(
            "putMacro",
            "Make or replace one",
            {200: _SHOWN, 201: answers(ref("Macro"), "It is new")},
            tag=_MACROS,
            scope=MACROS,
            parameters=(_NAME, *_MATCH),
            body=ref("Definition"),
            example={"code": _DEFINITION["code"]},
            wrong=(412,),
        ),
        "delete": operation(
            "endMacro",
            "End one",
            {200: answers(ref("Macro"), "What it was")},
            tag=_MACROS,
            scope=MACROS,
            parameters=(_NAME, *_MATCH),
            wrong=(412,),
        ),
    },
    "/traces/{name}": {
        "get": operation(
            "showRuns",
            "Show its last runs, newest first",
            {200: answers(listed(ref("Run"), maxItems=20), "Runs")},
            tag=_MACROS,
            scope=MACROS,
            parameters=(_NAME, query("limit", whole(minimum=1, maximum=20, default=20), "How many at most")),
        ),
    },
    "/trial": {
        "post": operation(
            "tryMacro",
            "Try a macro on what is past; nothing is deployed",
            {200: answers(ref("Trial"), "What it would have done")},
            tag=_MACROS,
            scope=MACROS,
            body=shape(
                "What to try on what",
                {
                    "definition": ref("Definition"),
                    "since": anything("How long ago (24h), a time, or a number"),
                    "limit": whole("Readings", minimum=1, maximum=20_000),
                },
                may_lack=("since", "limit"),
            ),
            example={"definition": _DEFINITION, "since": "24h", "limit": 1000},
        ),
    },
    "/rbps": {
        "get": operation(
            "listSpecifications",
            "List topics and filters with a role-based publishing specification",
            {200: by_pages(answers(listed(text(), maxItems=10_000), "Topics and filters, in order"))},
            tag=_ROLES,
            scope=ROLES,
            parameters=_PAGE,
        ),
        "post": operation(
            "makeSpecification",
            "Make one",
            {201: answers(ref("Specification"), "It is made; `Location` is where")},
            tag=_ROLES,
            scope=ROLES,
            body=ref("Specification"),
            example=_DOCUMENT,
            wrong=(409,),
        ),
    },
    "/rbps/{topic}": {
        "get": operation(
            "showSpecification",
            "Show one",
            {200: _SPECIFIED},
            tag=_ROLES,
            scope=ROLES,
            parameters=(_TOPIC,),
        ),
        "put": operation(
            "putSpecification",
            "Make or replace one",
            {200: _SPECIFIED, 201: answers(ref("Specification"), "It is new")},
            tag=_ROLES,
            scope=ROLES,
            parameters=(_TOPIC, *_MATCH),
            body=ref("Specification"),
            example=_DOCUMENT,
            wrong=(412,),
        ),
        "delete": operation(
            "endSpecification",
            "Take one back",
            {200: answers(ref("Specification"), "What it was")},
            tag=_ROLES,
            scope=ROLES,
            parameters=(_TOPIC, *_MATCH),
            wrong=(412,),
        ),
    },
    "/explain": {
        "get": operation(
            "explainRoles",
            "Say what a user gets of a topic, and why",
            {
                200: answers(
                    shape("For people", {"user": text(), "topic": text(), "explanation": text()}), "The explanation"
                )
            },
            tag=_ROLES,
            scope=ROLES,
            parameters=(
                query("topic", text(minLength=1, examples=["room1/power"]), "Which topic", required=True),
                query("user", text(), "Who; you, if it is left out"),
            ),
        ),
    },
    "/views": {
        "get": operation(
            "showViews",
            "Say who sees what of a topic, by roles",
            {200: answers(ref("Views"), "By role")},
            tag=_ROLES,
            scope=ROLES,
            parameters=(query("topic", text(minLength=1, examples=["room1/power"]), "Which topic", required=True),),
        ),
    },
}
