"""Role-based publishing over HTTP: documents by their topic or filter, and what they mean for a user."""

from __future__ import annotations

from tests.http_world import GUEST, open_door
from tests.loops import run

ROLES = {"customer": {"streams": ["{topic}/mean"], "default": "{topic}/mean"}, "visitor": {"streams": []}}


def test_a_document_is_made_shown_replaced_and_taken_back() -> None:
    async def test() -> None:
        async with open_door() as world:
            made = await world.ask("POST", "/rbps", {"topic": "home/+/power/#", "roles": ROLES})
            path = "/rbps/home/%2B/power/%23"
            assert (made.status, made.headers["Location"]) == (201, path)
            shown = await world.ask("GET", path)
            assert (shown.status, shown.json) == (200, made.json)
            taken = await world.ask("POST", "/rbps", {"topic": "home/+/power/#", "roles": ROLES})
            assert taken.status == 409
            assert f"PUT {path}" in taken.error
            less: dict[str, object] = {"visitor": {"streams": []}}
            other = await world.ask("PUT", path, {"roles": less}, If_Match=shown.headers["ETag"])
            assert other.status == 200
            assert other.json["topic"] == "home/+/power/#"
            assert (await world.ask("PUT", path, {"roles": ROLES}, If_Match=shown.headers["ETag"])).status == 412
            assert (await world.ask("PUT", path, {"roles": ROLES}, If_None_Match="*")).status == 412
            assert (await world.ask("PUT", path, {"topic": "other", "roles": ROLES})).status == 400
            assert (await world.ask("GET", "/rbps")).json == ["home/+/power/#"]
            assert (await world.ask("DELETE", path)).json == other.json
            assert (await world.ask("GET", path)).status == 404
            assert (await world.ask("DELETE", path)).status == 404
            assert (await world.ask("PUT", "/rbps/t", {"roles": ROLES})).status == 201

    run(test)


def test_what_is_no_document_is_refused_with_what_is_wrong() -> None:
    async def test() -> None:
        async with open_door() as world:
            bodies: list[object] = [{}, {"topic": 1}, {"topic": "a/#/b", "roles": ROLES}, {"topic": "t"}, [], b"null"]
            for body in bodies:
                refused = await world.ask("POST", "/rbps", body)
                assert refused.status == 400
                assert refused.error
            assert not world.roles.kept

    run(test)


def test_who_may_not_say_who_gets_what_is_refused() -> None:
    async def test() -> None:
        async with open_door() as world:
            for topic in ("open/a", "shut/a"):
                await world.ask("PUT", f"/rbps/{topic}", {"roles": ROLES})
            assert (await world.ask("GET", "/rbps", Authorization=GUEST)).json == ["open/a"]
            assert (await world.ask("GET", "/rbps/shut/a", Authorization=GUEST)).status == 403
            for method, path, body in (
                ("PUT", "/rbps/open/a", {"roles": ROLES}),
                ("POST", "/rbps", {"topic": "open/b", "roles": ROLES}),
                ("DELETE", "/rbps/open/a", None),
            ):
                assert (await world.ask(method, path, body, Authorization=GUEST)).status == 403
            assert sorted(world.roles.kept) == ["open/a", "shut/a"]

    run(test)


def test_everybody_learns_what_they_get_and_some_what_others_get() -> None:
    async def test() -> None:
        async with open_door() as world:
            own = await world.ask("GET", "/explain?topic=shut/a", Authorization=GUEST)
            assert own.json == {"user": "guest", "topic": "shut/a", "explanation": "guest gets shut/a"}
            other = await world.ask("GET", "/explain?topic=shut/a&user=bob", Authorization=GUEST)
            assert other.status == 403
            assert (await world.ask("GET", "/explain?topic=open/a&user=bob", Authorization=GUEST)).status == 200
            assert (await world.ask("GET", "/explain?user=bob")).status == 400
            assert (await world.ask("GET", "/explain?topic=a&topic=b")).status == 400

    run(test)
