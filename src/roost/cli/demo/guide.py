"""What a newcomer is told: on the page, and at the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from roost.cli.demo.centre import MANAGER, VISITOR, Centre
from roost.sim.physics import DAY_S


def guide(centre: Centre, speed: float) -> list[str]:
    """Sentences for the page."""
    parts = (
        (
            "Two buildings are live: the hall, whose 90 sensors publish through six panels, and the annex, whose rooms "
            "speak MQTT. Three repos keep everything; this page belongs to a fourth node, the centre."
        ),
        f"A day at the campus takes {DAY_S / speed / 60:.0f} minutes here: watch rooms fill, warm up and empty.",
        "Open a stream and look at one reading's passport: who signed it, and which repos have it.",
        "Break something: what is promised is measured by a consumer and a dashboard while you do, and stays kept.",
        (
            f"Log in as {MANAGER} (facility manager) or {VISITOR} (visitor), and compare the occupancy of a room of "
            f"the annex; the passwords are in {centre.passwords_file}."
        ),
    )
    return list(parts)


def advice(centre: Centre, breaks: Sequence[str]) -> list[str]:
    """Three things to try, for the terminal."""
    names, port = " and ".join(centre.passwords), centre.mqtt_port
    page = f"open {centre.http} ; log in as {names} with the passwords in {centre.passwords_file}"
    listen = f"mosquitto_sub -p {port} -t 'Campus/Hall/Env/#' -v   or   roost sub -p {port} -t 'annex/#' -v"
    return [page, listen, f"roost demo break {breaks[0]}   (or {', '.join(breaks[1:])})"]
