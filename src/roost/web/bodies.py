"""What the body of a request has to be: an object with these keys, each of its kind; raises `Problem`."""

from __future__ import annotations

from collections.abc import Mapping

from roost.host.http.answers import Problem


def object_of(body: object, required: tuple[str, ...], optional: tuple[str, ...] = ()) -> Mapping[str, object]:
    """See that the body has these keys, and no others."""
    if not isinstance(body, dict):
        raise Problem(400, f"the body is an object with {', '.join((*required, *optional))}")
    missing = [key for key in required if key not in body]
    if missing:
        raise Problem(400, f"the body has no {missing[0]}; it takes {', '.join(required)}")
    unknown = [key for key in body if key not in required and key not in optional]
    if unknown:
        raise Problem(400, f"{unknown[0][:100]!r} is nothing here; there are {', '.join((*required, *optional))}")
    return body


def text_at(body: Mapping[str, object], key: str, max_length: int) -> str:
    """A text of at most so many characters."""
    value = body[key]
    if not isinstance(value, str) or len(value) > max_length:
        raise Problem(400, f"{key} is a text of at most {max_length} characters")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise Problem(400, f"{key} holds half a character (a lone surrogate)") from None
    return value


def number_at(body: Mapping[str, object], key: str, default: int) -> int:
    """A whole number."""
    value = body.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int):
        raise Problem(400, f"{key} is a whole number")
    return value
