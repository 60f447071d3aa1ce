"""What `roost invite` says when somebody came."""

from __future__ import annotations

from pathlib import Path

from roost.cli._enrol_words import admitted
from roost.trust.enrolment_messages import UserOffer


def test_who_lets_a_user_in_is_told_to_have_the_node_read_its_files_again() -> None:
    said = "\n".join(admitted(UserOffer("ann", 1), Path("users")))
    assert "roost up reload -c FILE" in said
    assert "roost mqtt" not in said
