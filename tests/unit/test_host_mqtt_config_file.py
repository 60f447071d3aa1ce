"""The file of a configuration: every mistake is told with its line and key, and only those that somebody made."""

from __future__ import annotations

from pathlib import Path

import pytest

from roost.errors import BadConfig
from roost.host.mqtt.config import Config, read_keys
from roost.host.mqtt.config_file import MAX_MISTAKES, read_config_file


def read(folder: Path, text: str) -> Config:
    file = folder / "roost.yaml"
    file.write_text(text, encoding="utf-8")
    return read_config_file(file).read(lambda said: read_keys(said, folder, folder))


def mistakes(folder: Path, text: str) -> list[str]:
    with pytest.raises(BadConfig) as caught:
        read(folder, text)
    return str(caught.value).replace(f"{folder}/", "").splitlines()


def test_a_file_that_is_right_is_read(tmp_path: Path) -> None:
    assert read(tmp_path, "name: hall\n").name == "hall"
    assert read(tmp_path, "# nothing\n").store == tmp_path / "mqtt"


def test_a_mistake_has_its_line_its_key_and_a_remedy(tmp_path: Path) -> None:
    assert mistakes(tmp_path, "# first\n\nlimits:\n  conections: 5\n") == [
        "roost.yaml, line 4: limits.conections: there is no such key; perhaps you mean connections"
    ]


def test_all_mistakes_are_told_in_the_order_of_the_file(tmp_path: Path) -> None:
    said = mistakes(
        tmp_path,
        "log: {format: xml}\n"
        "trees:\n"
        "  - filter: a/#/b\n"
        "  - {filter: b, durabilty: disk}\n"
        "  - filter: c\n"
        "    durability: never\n"
        "listners: []\n"
        "queues:\n"
        "  messages: -1\n",
    )
    assert [each.partition(":")[0] for each in said] == [f"roost.yaml, line {line}" for line in (1, 3, 4, 6, 7, 9)]
    assert [each.split(": ")[1] for each in said] == [
        *("log.format", "trees[0].filter", "trees[1].durabilty", "trees[2].durability", "listners", "queues.messages"),
    ]


def test_an_entry_keeps_its_number_when_one_before_it_was_wrong(tmp_path: Path) -> None:
    said = mistakes(tmp_path, "groups:\n  - 5\n  - {name: /A/B, panel: P}\ntrees:\n  - 6\n  - filter: 7\n")
    assert [each.split(": ")[1] for each in said] == ["groups[0]", "groups[1].repo", "trees[0]", "trees[1].filter"]
    assert [each.partition(":")[0][-1] for each in said] == ["2", "3", "5", "6"]


def test_what_is_only_wrong_because_of_something_else_is_not_told(tmp_path: Path) -> None:
    assert [each.split(": ")[1] for each in mistakes(tmp_path, "listeners:\n  - tcp: nowhere:at:all\n")] == [
        "listeners[0].tcp"
    ]
    assert [each.split(": ")[1] for each in mistakes(tmp_path, "http: {listen: 5}\nname: 5\n")] == [
        "http.listen",
        "name",
    ]


def test_a_key_that_is_missing_stands_where_it_should_be(tmp_path: Path) -> None:
    (said,) = mistakes(tmp_path, "\ngroups:\n  - panel: P\n    repo: R\n")
    assert said == "roost.yaml, line 3: groups[0].name: it is missing; write some text"


def test_a_key_may_have_dots_and_colons(tmp_path: Path) -> None:
    said = mistakes(tmp_path, "limits:\n  network_packet_bytes:\n    10.1.0.0/99: 4KiB\n    'fe80::/10': 5\n")
    assert [each.partition(":")[0] for each in said] == [f"roost.yaml, line {line}" for line in (3, 4)]
    assert "limits.network_packet_bytes.fe80::/10: 5 is not from" in said[1]


def test_a_key_that_stands_twice_is_a_mistake(tmp_path: Path) -> None:
    assert mistakes(tmp_path, "name: a\npage: true\nname: b\nlog: {level: info, level: error}\n") == [
        "roost.yaml, line 3: name: this stands in line 1 too; take one of them out",
        "roost.yaml, line 4: log.level: this stands in line 4 too; take one of them out",
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: [1\nb: 2\n", "roost.yaml, line 2: this is no YAML: while parsing a flow sequence"),
        ("a:\n\t- b\n", "roost.yaml, line 2: this is no YAML"),
        ("a: !!python/object:os.system {}\n", "roost.yaml, line 1: this is no YAML: could not determine a constructor"),
        ("- a\n", "roost.yaml: there are no keys"),
        ("just text\n", "roost.yaml: there are no keys"),
        ("a: &x {b: *x}\n", "roost.yaml, line 1: a: there is no such key"),
    ],
)
def test_what_is_no_yaml_is_said(tmp_path: Path, text: str, said: str) -> None:
    (told,) = mistakes(tmp_path, text)
    assert said in told


def test_what_cannot_be_read_is_said(tmp_path: Path) -> None:
    with pytest.raises(BadConfig, match=r"none\.yaml cannot be read: No such file"):
        read_config_file(tmp_path / "none.yaml")
    (tmp_path / "latin.yaml").write_bytes(b"name: hall\nx: \xe9\n")
    with pytest.raises(BadConfig, match=r"latin.yaml is no YAML: line 2 is not UTF-8"):
        read_config_file(tmp_path / "latin.yaml")


def test_a_mistake_that_is_in_no_line_is_told_without_one(tmp_path: Path) -> None:
    file = tmp_path / "roost.yaml"
    file.write_text("name: hall\n")

    def refuse(_: object) -> None:
        raise BadConfig("somewhere else: that is wrong")

    with pytest.raises(BadConfig, match=r"^/.*roost.yaml: somewhere else: that is wrong$"):
        read_config_file(file).read(refuse)


def test_there_is_an_end_to_mistakes(tmp_path: Path) -> None:
    assert len(mistakes(tmp_path, "".join(f"wrong{number}: 1\n" for number in range(2 * MAX_MISTAKES)))) == MAX_MISTAKES


def test_what_later_steps_complain_of_is_put_in_its_line(tmp_path: Path) -> None:
    file = tmp_path / "roost.yaml"
    file.write_text("name: hall\nroles:\n  readers:\n    ada: ada.cert\n")
    read = read_config_file(file)
    assert read.place("roles.readers.ada: x: no certificate\n/etc/users, line 3: bad") == (
        f"{file}, line 4: roles.readers.ada: x: no certificate\n/etc/users, line 3: bad"
    )


def test_aliases_and_merged_keys_are_read_as_yaml_has_them(tmp_path: Path) -> None:
    config = read(tmp_path, "groups:\n  - &one {name: /A/B, panel: P, repo: R}\n  - {<<: *one, name: /A/C}\n")
    assert [str(each.group.name) for each in config.groups] == ["/A/B", "/A/C"]
