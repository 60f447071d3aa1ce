"""What the API's document is written with: schemas, parameters and answers in few words [OpenAPI 3.1, JSON Schema]."""

from __future__ import annotations

from typing import Final

Json = dict[str, object]

_JSON: Final = "application/json"
_MEANT: Final = {
    400: "The body, a name, a filter or a parameter is not what it has to be",
    401: "Say who you are",
    403: "You may not, or your token is for other things",
    404: "There is no such thing, or it is not configured",
    405: "There is no such method here",
    408: "The body did not come in time",
    409: "There is one already, or it is not the time for it",
    412: "It was changed meanwhile",
    413: "The body has more than 2 MiB",
    415: "The body is not JSON, or does not say so",
    429: "Too many at once: come again after Retry-After seconds",
    500: "The node failed, and its log says why",
    503: "The group, or what has to be asked, does not answer",
}
_ALWAYS: Final = (400, 401, 403, 404, 429, 500, 503)
_WITH_BODY: Final = (408, 413, 415)


# -- schemas


def _schema(kind: str, said: str, more: dict[str, object]) -> Json:
    return {"type": kind, **({"description": said} if said else {}), **more}


def text(said: str = "", **more: object) -> Json:
    """A text."""
    return _schema("string", said, more)


def whole(said: str = "", **more: object) -> Json:
    """A whole number."""
    return _schema("integer", said, more)


def number(said: str = "", **more: object) -> Json:
    """Any number."""
    return _schema("number", said, more)


def yes_no(said: str = "") -> Json:
    """True or false."""
    return _schema("boolean", said, {})


def one_of(*words: str, said: str = "") -> Json:
    """One of these words."""
    return _schema("string", said, {"enum": list(words)})


def listed(items: Json, said: str = "", **more: object) -> Json:
    """A list."""
    return _schema("array", said, {"items": items, **more})


def table(values: Json, said: str = "") -> Json:
    """An object with any keys."""
    return _schema("object", said, {"additionalProperties": values})


def shape(said: str, fields: Json, *, may_lack: tuple[str, ...] = (), more: bool = False) -> Json:
    """An object with these keys, some of which may be missing, and no others unless there is `more`."""
    required = [key for key in fields if key not in may_lack]
    return _schema("object", said, {"properties": fields, "required": required, "additionalProperties": more})


def or_null(schema: Json) -> Json:
    """The same, or null."""
    if "type" not in schema:
        return {"anyOf": [schema, {"type": "null"}]}
    nullable = {**schema, "type": [schema["type"], "null"]}
    known = schema.get("enum")
    return {**nullable, "enum": [*known, None]} if isinstance(known, list) else nullable


def anything(said: str = "") -> Json:
    """Any JSON."""
    return {"description": said} if said else {}


def ref(name: str) -> Json:
    """A schema that stands among the components."""
    return {"$ref": f"#/components/schemas/{name}"}


def page_of(items: Json) -> Json:
    """A page of a list."""
    return shape(
        "A page of a list",
        {
            "items": listed(items),
            "next": or_null(text("Where the next page begins, for `after`; null if this is the last")),
            "total": whole("How many there are in all", minimum=0),
        },
    )


TIME: Final = whole("Nanoseconds since 1970", examples=[1_777_622_400_000_000_000])


# -- parameters


def query(name: str, schema: Json, said: str, *, required: bool = False) -> Json:
    """A parameter of the query."""
    return {"name": name, "in": "query", "description": said, "required": required, "schema": schema}


def part(name: str, said: str, example: str) -> Json:
    """A part of the path, whose slashes may stay as they are or be %2F."""
    schema = text(minLength=1, examples=[example])
    return {"name": name, "in": "path", "description": said, "required": True, "schema": schema}


def header(name: str, said: str) -> Json:
    """A header of the request."""
    return {"name": name, "in": "header", "description": said, "required": False, "schema": text(pattern="^[ -~]*$")}


# -- operations


def answers(schema: Json, said: str, example: object = None, **more: Json) -> Json:
    """An answer with JSON, and in other forms by their media types, in the keys `csv` and so on."""
    content: Json = {_JSON: {"schema": schema} | ({} if example is None else {"examples": {"one": {"value": example}}})}
    for kind, form in more.items():
        content[_KINDS[kind]] = {"schema": form}
    return {"description": said, "content": content}


def by_pages(answered: Json) -> Json:
    """An answer whose headers say where the next page is, as its body has no room for it."""
    link = {"description": "The next page, relative, with rel=next; not on the last", "schema": text()}
    place = {"description": "Where the next page begins, for `after`; not on the last", "schema": text()}
    return {**answered, "headers": {"Link": link, "Roost-Next": place}}


_KINDS: Final = {
    "csv": "text/csv",
    "arrow": "application/vnd.apache.arrow.stream",
    "lines": "application/x-ndjson",
    "events": "text/event-stream",
}


def operation(
    id_: str,
    said: str,
    ok: dict[int, Json],
    *,
    tag: str,
    parameters: tuple[Json, ...] = (),
    body: Json | None = None,
    example: object = None,
    wrong: tuple[int, ...] = (),
    public: bool = False,
    scope: str = "",
) -> Json:
    """One method of one path."""
    refused = [*_ALWAYS, *wrong, *(_WITH_BODY if body is not None else ())]
    responses: Json = {str(status): answered for status, answered in ok.items()}
    responses |= {
        str(status): {"$ref": f"#/components/responses/{status}"} for status in sorted(set(refused) - set(ok))
    }
    told: Json = {"operationId": id_, "summary": said, "tags": [tag], "responses": responses}
    if parameters:
        told["parameters"] = list(parameters)
    if body is not None:
        content: Json = {"schema": body, **({} if example is None else {"examples": {"one": {"value": example}}})}
        told["requestBody"] = {"required": True, "content": {_JSON: content}}
    if public:
        told["security"] = []
    if scope:
        told["description"] = f"A token needs the scope `{scope}`."
    return told


def refusals() -> Json:
    """The answers to what is wrong, by status."""
    told: Json = {}
    for status, said in _MEANT.items():
        refusal: Json = {"description": said, "content": {_JSON: {"schema": ref("Error")}}}
        if status == 429:
            refusal["headers"] = {"Retry-After": {"schema": whole("Seconds")}}
        told[str(status)] = refusal
    return told
