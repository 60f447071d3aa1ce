"""Whether a request was made on this machine: by what it asks for, by who says that it was forwarded, by its page."""

from __future__ import annotations

import pytest

from roost.host.nearness import forwarded_for, is_made_here, is_of_one_site

HERE = ("Host", "127.0.0.1:8083")


@pytest.mark.parametrize(
    ("headers", "here"),
    [
        ([HERE], True),
        ([("host", "localhost:80")], True),
        ([("Host", "[::1]:80")], True),
        ([HERE, ("Origin", "http://example.org")], True),  # which is asked for by itself
        ([], False),
        ([("Host", "")], False),
        ([("Host", "mqtt.example:80")], False),
        ([("Host", "[::1")], False),
        ([HERE, HERE], False),
        ([HERE, ("Forwarded", "for=192.0.2.1")], False),
        ([HERE, ("Via", "1.1 door")], False),
        ([HERE, ("x-real-ip", "192.0.2.1")], False),
        ([HERE, ("X-Forwarded-For", "192.0.2.1")], False),
        ([HERE, ("X-FORWARDED-HOST", "mqtt.example")], False),
        ([HERE, ("X-Forwarded-Proto", "https")], False),
        ([HERE, ("X-Forwarded-Server", "door")], False),
    ],
)
def test_who_asks_for_this_very_machine_and_was_not_forwarded_is_here(
    headers: list[tuple[str, str]], here: bool
) -> None:
    assert is_made_here(headers) == here


@pytest.mark.parametrize(
    ("origins", "one"),
    [
        ([], True),
        (["http://127.0.0.1:8083"], True),
        (["http://127.0.0.1"], False),
        (["https://example.org"], False),
        (["null"], False),
        (["http://127.0.0.1:8083", "https://example.org"], False),
        (["http://[bad"], False),
    ],
)
def test_a_page_asks_where_it_came_from_or_is_of_another_site(origins: list[str], one: bool) -> None:
    assert is_of_one_site([HERE, *(("Origin", origin) for origin in origins)]) == one


def test_a_page_does_not_come_from_where_nobody_is_asked() -> None:
    assert not is_of_one_site([("Origin", "null")])


@pytest.mark.parametrize(
    ("lines", "address"),
    [
        ([], ""),
        (["192.0.2.1"], "192.0.2.1"),
        (["198.51.100.7, 192.0.2.1"], "192.0.2.1"),
        (["198.51.100.7", "192.0.2.1"], "192.0.2.1"),
        (["2001:db8::1"], "2001:db8::1"),
        (["192.0.2.1, 127.0.0.1"], ""),
        (["192.0.2.1, unknown"], ""),
        (["192.0.2.1,"], ""),
    ],
)
def test_a_client_is_where_the_last_proxy_saw_it(lines: list[str], address: str) -> None:
    assert forwarded_for([("X-Forwarded-For", line) for line in lines]) == address
