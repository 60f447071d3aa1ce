"""Whatever stands in a configuration, it is read or refused, and each mistake is in a line that there is."""

from __future__ import annotations

import copy
import re
import tempfile
from pathlib import Path
from typing import Any

import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.docs.configuration import sample, uncommented

from roost.errors import BadConfig
from roost.host.mqtt.config import check_together, read_keys
from roost.host.mqtt.config_file import read_config_file

WHOLE: dict[str, Any] = yaml.safe_load(uncommented(sample()))
WHERE = re.compile(r"roost\.yaml(?:, line (\d+))?: \S.*")
JUNK = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 1 << 70),
    st.floats(allow_nan=False),
    st.text(max_size=8),
    st.sampled_from(["#", "a/#/b", "/A/B", "127.0.0.1:0", "::", "1d", "5KiB", "memory", "0.0.0.0:1"]),
    st.lists(st.one_of(st.none(), st.integers(), st.text(max_size=3)), max_size=2),
    st.dictionaries(st.one_of(st.text(max_size=3), st.integers()), st.integers(), max_size=2),
)


def places(said: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:  # noqa: ANN401  as YAML has it
    inner = said.items() if isinstance(said, dict) else enumerate(said) if isinstance(said, list) else ()
    return [path] * bool(path) + [each for key, value in inner for each in places(value, (*path, key))]


def changed(said: dict[str, Any], changes: list[tuple[tuple[Any, ...], object]]) -> dict[str, Any]:
    """With other values in some places, as far as those are still there."""
    found = copy.deepcopy(said)
    for path, value in changes:
        holder: Any = found
        for key in path[:-1]:
            holder = holder[key] if _has(holder, key) else None
        if _has(holder, path[-1]):
            holder[path[-1]] = value
    return found


def _has(holder: Any, key: Any) -> bool:  # noqa: ANN401  as above
    return (isinstance(holder, dict) and key in holder) or (
        isinstance(holder, list) and isinstance(key, int) and key < len(holder)
    )


def refusals(text: str) -> list[str]:
    """What is wrong with a file; raises anything else that reading it raises."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "roost.yaml"
        path.write_text(text, encoding="utf-8")
        try:
            file = read_config_file(path)
            config = file.read(lambda said: read_keys(said, path.parent, path.parent))
            try:
                check_together(config)
            except BadConfig as error:
                return file.place(str(error)).replace(f"{folder}/", "").splitlines()
        except BadConfig as error:
            return str(error).replace(f"{folder}/", "").splitlines()
    return []


@settings(deadline=None)
@given(st.lists(st.tuples(st.sampled_from(places(WHOLE)), JUNK), min_size=1, max_size=4))
def test_a_changed_configuration_is_read_or_refused(changes: list[tuple[tuple[Any, ...], object]]) -> None:
    text = yaml.safe_dump(changed(WHOLE, changes), allow_unicode=True)
    lines = len(text.splitlines())
    for each in refusals(text):
        found = WHERE.match(each)
        if found is not None and found[1] is not None:
            assert 1 <= int(found[1]) <= lines, each


@settings(deadline=None)
@given(st.text(max_size=40))
@example("a: &x [*x]")
@example("a: &x {b: *x}")
@example("<<: [1]")
@example("? [a]\n: b")
@example("{{}: 1}")
@example("!!binary a: b")
def test_any_text_is_read_or_refused(text: str) -> None:
    refusals(text.replace("\x00", ""))
