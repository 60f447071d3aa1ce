"""Virtual readings: the same row gives the same packet, and any other row another one."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.trust_world import NOW, PANEL1, SCHEMA, World

from roost.naming import Name
from roost.naming.building import Group
from roost.pipeline.virtual import VirtualPanel
from roost.pipeline.virtual_rows import VirtualRow
from roost.trust import KeyChain
from roost.wire.lineage import InputRange

NAME = Name.parse(PANEL1)
COUNTS = st.none() | st.integers(0, 2**40)
RANGES = st.builds(
    lambda stream, low, more: InputRange(NAME / "Heater" / stream, low, low + more),
    st.sampled_from("ab"),
    st.integers(1, 50),
    st.integers(0, 50),
)
ROWS = st.builds(
    VirtualRow,
    output=st.sampled_from(["Heater/Mean", "Heater/Max", "Room/Mean"]),
    number=st.integers(1, 2**40),
    event_time_ns=st.integers(0, 2**62),
    value=st.none()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.booleans()
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=9),
    inputs=st.lists(RANGES, min_size=1, max_size=4).map(tuple),
    unit=st.sampled_from(["", "V", "kWh"]),
    quality=st.sampled_from(["good", "uncertain", "bad"]),
    expected=st.integers(0, 2**40),
    received=COUNTS,
    missing=COUNTS,
    open=st.none() | st.integers(1, 9),
    window_s=st.none() | st.integers(1, 3600),
    missing_names=st.sampled_from(["", "a 1-3"]),
)
KINDS = [World(kind=kind) for kind in ("ecdsa", "ed25519")]


def panel(world: World, program: bytes = bytes(32)) -> VirtualPanel:
    keys = KeyChain(SCHEMA, [world[PANEL1]])
    place = Group.at(NAME.prefix(-1)).panel("Panel1")
    return VirtualPanel(place, lambda name: keys.signer_for(name, NOW), job="p/s@1", program=program)


@settings(max_examples=60)
@given(ROWS, st.sampled_from(KINDS))
def test_the_same_row_gives_the_same_packet_whoever_makes_it_and_when(row: VirtualRow, world: World) -> None:
    first, second = panel(world), panel(world)
    second.packet(replace(row, number=row.number + 1))  # what was made before leaves no trace
    assert first.packet(row).wire == second.packet(row).wire


@settings(max_examples=150)
@given(ROWS, ROWS, st.data())
def test_another_row_gives_another_content(row: VirtualRow, other: VirtualRow, data: st.DataObject) -> None:
    made = panel(KINDS[0])
    content = made.packet(row).content
    columns = ["event_time_ns", "expected", "received", "missing", "open", "window_s", "missing_names", "value"]
    if row.value is not None:  # they belong to it
        columns += ["unit", "quality"]
    column = data.draw(st.sampled_from(columns))
    theirs = getattr(other, column)
    changed = replace(row, **{column: theirs})
    is_same = repr(theirs) == repr(getattr(row, column))
    if not is_same and (column != "value" or theirs is not None):
        assert made.packet(changed).content != content
    moved = replace(row, inputs=(InputRange(NAME / "Heater" / "c", 1, 1), *(row.inputs or ())))
    assert made.packet(moved).content != content
    assert panel(KINDS[0], b"\1" * 32).packet(row).content != content
