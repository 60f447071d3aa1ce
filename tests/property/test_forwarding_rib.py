"""RIB inheritance against a model that computes every next hop from the definition, from nothing, after each step."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from roost.forwarding.control import CAPTURE, CHILD_INHERIT
from roost.forwarding.rib import Rib, Route
from roost.naming import Name

PREFIXES = ["/", "/a", "/b", "/a/a", "/a/b", "/a/b/a", "/a/b/b", "/a/b/a/c", "/b/a"]
Routes = dict[tuple[str, int, int], Route]


def expected(routes: Routes) -> dict[str, dict[int, int]]:
    """Say it as the developer's guide does: own routes, then those of the ancestors until one captures."""
    fib: dict[str, dict[int, int]] = {}
    for prefix in {prefix for prefix, _, _ in routes}:
        hops: dict[int, int] = {}
        name = Name.parse(prefix)
        for depth in range(len(name), -1, -1):
            here = [route for (other, _, _), route in routes.items() if Name.parse(other) == name.prefix(depth)]
            usable = [route for route in here if depth == len(name) or route.flags & CHILD_INHERIT]
            for face in {route.face for route in usable} - hops.keys():
                hops[face] = min(route.cost for route in usable if route.face == face)
            if any(route.flags & CAPTURE for route in here):
                break
        fib[prefix] = hops
    return fib


route = st.builds(
    Route,
    face=st.integers(1, 3),
    origin=st.sampled_from([0, 255]),
    cost=st.integers(0, 3),
    flags=st.integers(0, 3),
    expires=st.one_of(st.none(), st.integers(1, 30)),
)
step = st.one_of(
    st.tuples(st.just("add"), st.sampled_from(PREFIXES), route),
    st.tuples(st.just("remove"), st.sampled_from(PREFIXES), route),
    st.tuples(st.just("face"), st.just("/"), route),
    st.tuples(st.just("expire"), st.just("/"), route),
)


@settings(max_examples=300, deadline=None)
@given(st.lists(step, max_size=25))
def test_the_fib_is_what_the_definition_says_after_every_step(steps: list[tuple[str, str, Route]]) -> None:
    rib = Rib()
    fib: dict[str, dict[int, int]] = {}
    model: Routes = {}
    now = 0
    for verb, prefix, route in steps:
        if verb == "add":
            changes = rib.add(Name.parse(prefix), route)
            model[prefix, route.face, route.origin] = route
        elif verb == "remove":
            changes = rib.remove(Name.parse(prefix), route.face, route.origin)
            model.pop((prefix, route.face, route.origin), None)
        elif verb == "face":
            changes = rib.remove_face(route.face)
            model = {key: kept for key, kept in model.items() if key[1] != route.face}
        else:
            now += route.expires or 0
            changes = rib.expire(now)
            model = {key: kept for key, kept in model.items() if kept.expires is None or kept.expires > now}
        for change in changes:
            assert fib.pop(str(change.prefix), {}) == change.before
            if change.after:
                fib[str(change.prefix)] = change.after
        assert fib == expected(model)
        assert len(rib) == len(model)
        assert {(str(name), kept.face, kept.origin): kept for name, kept in listed(rib)} == model
    deadlines = [kept.expires for kept in model.values() if kept.expires is not None]
    assert not deadlines or (rib.deadline() or 0) <= min(deadlines)


def listed(rib: Rib) -> list[tuple[Name, Route]]:
    return [(name, kept) for name, routes in rib.entries() for kept in routes]
