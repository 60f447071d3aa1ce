"""Macros over HTTP: the paper's JSON, every verb, and every status that they answer with."""

from __future__ import annotations

import pytest
from tests.http_world import GUEST, open_door
from tests.loops import run

from roost.errors import Backpressure, BadMacro, TimedOut
from roost.process.definition import definition_of

CODE = "Noctua.topic('room1/temp') * 2"


def test_a_macro_is_made_shown_replaced_and_deleted() -> None:
    async def test() -> None:
        async with open_door() as world:
            made = await world.ask("POST", "/macros", {"name": "room1/twice", "code": CODE})
            assert (made.status, made.headers["Location"]) == (201, "/macros/room1/twice")
            shown = await world.ask("GET", "/macros/room1/twice")
            assert (shown.status, shown.json) == (200, made.json)
            assert shown.json["topic"] == "Noctua/room1/twice"
            assert shown.headers["ETag"] == made.headers["ETag"]
            other = await world.ask("PUT", "/macros/room1/twice", {"code": CODE + " + 1"})
            assert (other.status, other.json["version"]) == (200, 2)
            assert other.headers["ETag"] != made.headers["ETag"]
            assert (await world.ask("GET", "/macros")).json == ["room1/twice"]
            gone = await world.ask("DELETE", "/macros/room1/twice")
            assert (gone.status, gone.json["version"]) == (200, 2)
            assert (await world.ask("GET", "/macros/room1/twice")).status == 404
            assert (await world.ask("DELETE", "/macros/room1/twice")).status == 404
            assert world.macros.users == [b"alice"] * 3

    run(test)


def test_a_macro_without_a_name_has_a_hash_for_one() -> None:
    async def test() -> None:
        async with open_door() as world:
            made = await world.ask("POST", "/macros", {"code": CODE})
            name = definition_of({"code": CODE}).name
            assert (made.status, made.headers["Location"]) == (201, f"/macros/{name}")
            assert (await world.ask("POST", "/macros", {"code": CODE})).status == 409

    run(test)


def test_a_taken_name_is_a_conflict_that_says_to_put() -> None:
    async def test() -> None:
        async with open_door() as world:
            await world.ask("POST", "/macros", {"name": "a b", "code": CODE})
            again = await world.ask("POST", "/macros", {"name": "a b", "code": CODE})
            assert again.status == 409
            assert "PUT /macros/a%20b" in again.error

    run(test)


def test_put_makes_what_is_not_there_and_its_name_is_the_paths() -> None:
    async def test() -> None:
        async with open_door() as world:
            made = await world.ask("PUT", "/macros/caf%C3%A9%2Fbar", {"name": "café/bar", "code": CODE})
            assert (made.status, made.headers["Location"]) == (201, "/macros/caf%C3%A9/bar")
            assert list(world.macros.kept) == ["café/bar"]
            assert (await world.ask("GET", "/macros/caf%C3%A9/bar")).status == 200
            other = await world.ask("PUT", "/macros/here", {"name": "there", "code": CODE})
            assert other.status == 400
            assert "'there'" in other.error

    run(test)


def test_a_name_is_whatever_stands_behind_the_head_of_the_path() -> None:
    async def test() -> None:
        async with open_door() as world:
            for name, path in (("a/trace", "a/trace"), ("100%", "100%25"), ("%41", "%2541"), ("what?", "what%3F")):
                made = await world.ask("PUT", f"/macros/{path}", {"code": CODE})
                assert made.status == 201, name
                assert made.json["definition"]["name"] == name
                assert (await world.ask("GET", made.headers["Location"])).json == made.json
            assert (await world.ask("GET", "/macros/%ff")).status == 400

    run(test)


def test_who_read_another_version_is_told_so_and_changes_nothing() -> None:
    async def test() -> None:
        async with open_door() as world:
            tag = (await world.ask("PUT", "/macros/a", {"code": CODE})).headers["ETag"]
            new = (await world.ask("PUT", "/macros/a", {"code": "1" + CODE}, If_Match=tag)).headers["ETag"]
            for method, body in (("PUT", {"code": CODE}), ("DELETE", None)):
                stale = await world.ask(method, "/macros/a", body, If_Match=tag)
                assert (stale.status, stale.headers["ETag"]) == (412, new)
            assert world.macros.kept["a"]["version"] == 2
            assert (await world.ask("PUT", "/macros/b", {"code": CODE}, If_Match="*")).status == 412
            assert (await world.ask("PUT", "/macros/a", {"code": CODE}, If_None_Match="*")).status == 412
            assert (await world.ask("PUT", "/macros/b", {"code": CODE}, If_None_Match="*")).status == 201
            assert (await world.ask("DELETE", "/macros/a", If_Match=f'"other", {new}')).status == 200

    run(test)


def test_a_trace_has_json_for_what_json_has_not() -> None:
    async def test() -> None:
        async with open_door() as world:
            await world.ask("PUT", "/macros/a/b", {"code": CODE})
            trace = await world.ask("GET", "/traces/a/b")
            assert trace.json == [{"version": 1, "output": {"base64": "/wA="}, "took_us": "NaN"}]
            assert (await world.ask("GET", "/traces/c")).status == 404

    run(test)


def test_who_may_not_look_or_change_is_told_which_permission_it_takes() -> None:
    async def test() -> None:
        async with open_door() as world:
            for name in ("open/a", "shut/a"):
                await world.ask("PUT", f"/macros/{name}", {"code": CODE})
            assert (await world.ask("GET", "/macros", Authorization=GUEST)).json == ["open/a"]
            assert (await world.ask("GET", "/macros/open/a", Authorization=GUEST)).status == 200
            for method, path, body in (
                ("GET", "/macros/shut/a", None),
                ("GET", "/traces/shut/a", None),
                ("PUT", "/macros/open/a", {"code": CODE}),
                ("POST", "/macros", {"name": "open/b", "code": CODE}),
                ("DELETE", "/macros/open/a", None),
            ):
                refused = await world.ask(method, path, body, Authorization=GUEST)
                assert refused.status == 403, (method, path)
                assert "the permission to" in refused.error
            assert sorted(world.macros.kept) == ["open/a", "shut/a"]

    run(test)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"name": "a"}, "a macro has code"),
        ({"code": 1}, "code is text"),
        ({"code": ""}, "the code is empty"),
        ({"code": CODE, "extra": 1}, "no 'extra'"),
        ({"code": CODE, "name": "a/+"}, "cannot be a topic"),
        ([], "a macro is an object"),
        ("text", "a macro is an object"),
        (b"null", "a macro is an object"),
    ],
)
def test_what_is_no_macro_is_refused_with_what_is_wrong(body: object, said: str) -> None:
    async def test() -> None:
        async with open_door() as world:
            for method, path in (("POST", "/macros"), ("PUT", "/macros/a")):
                refused = await world.ask(method, path, body)
                assert refused.status == 400
                assert said in refused.error or "the body is named" in refused.error
            assert not world.macros.kept

    run(test)


def test_errors_of_the_desk_have_their_status_and_those_of_code_their_place() -> None:
    async def test() -> None:
        async with open_door() as world:
            world.macros.trouble = BadMacro("a: line 3, column 14: expecting ';'")
            wrong = await world.ask("PUT", "/macros/a", {"code": CODE})
            assert wrong.status == 400
            assert (wrong.json["line"], wrong.json["column"]) == (3, 14)
            world.macros.trouble = Backpressure("the disk is behind", 2500)
            busy = await world.ask("PUT", "/macros/a", {"code": CODE})
            assert (busy.status, busy.headers["Retry-After"]) == (429, "3")
            world.macros.trouble = TimedOut("the group did not answer")
            assert (await world.ask("PUT", "/macros/a", {"code": CODE})).status == 503
            world.macros.trouble = ZeroDivisionError("a secret of the node's")
            bug = await world.ask("PUT", "/macros/a", {"code": CODE})
            assert bug.status == 500
            assert "secret" not in bug.error
            assert world.door.failures == 1

    run(test)


def test_names_come_by_the_page_and_the_headers_say_where_the_next_one_is() -> None:
    async def test() -> None:
        async with open_door() as world:
            for name in "dbeca":
                await world.ask("POST", "/macros", {"name": f"room {name}", "code": CODE})
            assert len((await world.ask("GET", "/macros")).json) == 5
            found, path = [], "/macros?limit=2"
            while path:
                told = await world.ask("GET", path)
                found.append([name[-1] for name in told.json])
                link = told.headers.get("Link", "")
                assert link == (f'<?limit=2&after={told.headers["Roost-Next"]}>; rel="next"' if link else "")
                path = f"/macros{link[1:].partition('>')[0]}" if link else ""
            assert found == [["a", "b"], ["c", "d"], ["e"]]
            assert len((await world.ask("GET", "/macros?limit=5")).json) == 5
            assert (await world.ask("GET", "/macros?limit=10001")).status == 400
            assert (await world.ask("GET", "/traces/room%20a?limit=21")).status == 400

    run(test)
