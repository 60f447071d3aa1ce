"""Who sees what of a topic, by the roles' documents.

    GET /views?topic=home/hall

`streams` are all that some role may see of it, `roles` what each role of the document gets, the default first asked.
Where no document governs the topic, `document` is null, and the permissions decide alone.
"""

from __future__ import annotations

from typing import Final

from aiohttp import web

from roost.errors import BadTopic
from roost.host.desk import Gate
from roost.host.http.answers import Problem, answer
from roost.host.http.asking import USER, parameter
from roost.naming.topic import name_of_topic
from roost.process.roles.policy import Policy
from roost.process.roles.specification import Row, stream_topic
from roost.web.api.lookout import Lookout

RULES: Final = "$roles/"


class ViewsResource:
    """The route."""

    def __init__(self, lookout: Lookout, gate: Gate) -> None:
        self._lookout: Final = lookout
        self._gate: Final = gate

    def routes(self) -> list[web.RouteDef]:
        """What is answered where."""
        return [web.get("/views", self._get, allow_head=False)]

    async def _get(self, request: web.Request) -> web.Response:
        keeper = self._lookout.running.broker.core.roles
        if keeper is None:
            raise Problem(404, "there are no roles here: write `roles:` in the node's configuration")
        topic = parameter(request, "topic")
        try:
            name_of_topic(topic)
        except BadTopic as error:
            raise Problem(400, f"topic: {error}") from None
        if not self._gate.may_look(request[USER], RULES + topic):
            raise Problem(403, f"to see who sees {topic} takes the permission to read or write {RULES}{topic}")
        return answer(told(keeper.policy, topic))


def told(policy: Policy, topic: str) -> dict[str, object]:
    """All that the documents say of a topic."""
    decision = policy.decide(topic, frozenset())
    if decision is None:
        return {"topic": topic, "document": None, "streams": [topic], "roles": []}
    document = policy.documents[decision.document]
    origins = policy.origins(topic)
    about = topic if topic in policy.documents or not origins else origins[0]
    rows = [_row(policy, row, about) for row in document.rows]
    streams = dict.fromkeys([stream_topic(stream, about) for stream in document.streams])
    return {"topic": topic, "document": document.topic, "streams": list(streams), "roles": rows}


def _row(policy: Policy, row: Row, topic: str) -> dict[str, object]:
    decision = policy.decide(topic, frozenset({row.role}))
    return {
        "role": row.role,
        "default": None if decision is None else decision.stream,
        "streams": [stream_topic(stream, topic) for stream in row.streams],
    }
