"""Which streams verbs show, and what they say of one that is not there."""

from __future__ import annotations

from roost.cli._stream_names import absent, is_internal
from roost.naming import Name

GROUP = Name.parse("/Campus/Hall")
MINE = Name.parse("/Campus/Hall/Mqtt/hall/temp")
OWN = Name.parse("/Campus/Hall/Mqtt/%24roost/payload/hall/camera")


def test_what_nodes_keep_for_themselves_is_internal_and_nothing_else() -> None:
    assert is_internal(GROUP, OWN)
    assert not is_internal(GROUP, MINE)
    assert not is_internal(GROUP, GROUP)


def test_a_stream_that_is_not_there_is_told_with_the_nearest_that_is_shown() -> None:
    said = str(absent(GROUP, Name.parse("/Campus/Hall/hall/temp"), [OWN, MINE]))
    assert said == (
        "there is no stream /Campus/Hall/hall/temp in the group /Campus/Hall: it has 1; "
        "did you mean /Campus/Hall/Mqtt/hall/temp?"
    )
