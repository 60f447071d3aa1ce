"""Trust schemas: which key may sign which name, how that is said, and errors with their line."""

import pytest

from roost.errors import BadConfig
from roost.naming import Name
from roost.naming.building import Company
from roost.trust.building import building_rules, building_schema
from roost.trust.schema import Schema

N = Name.parse
COMPANY = Company(N("/BigCompany"), frozenset({"Building1", "Building2"}), frozenset({"DepartmentA"}))
SCHEMA = building_schema(COMPANY, [COMPANY.group("", "Water")])


def certificate(identity: str) -> Name:
    return N(f"{identity}/KEY/%01/issuer/v=1")


GOOD = [
    ("/BigCompany/Building1/E/Panel1/Heater/Voltage/seq=1", "/BigCompany/Building1/E/Panel1", "#reading"),
    ("/BigCompany/Building1/E/Panel1/Heater/Voltage/seq=70000", "/BigCompany/Building1/E/Panel1", "#reading"),
    (
        "/BigCompany/Building1/E/Panel1/Heater/Voltage/32=CK/v=1/32=for/abc",
        "/BigCompany/Building1/E/Panel1",
        "#content_key",
    ),
    (
        "/BigCompany/Building1/E/Panel1/Heater/Voltage/32=metadata/v=1/seg=0",
        "/BigCompany/Building1/E/Panel1",
        "#metadata",
    ),
    *[
        (f"{identity}{path}{mark}/v=1/seg=0", identity, rule)
        for identity, paths, kind in [
            ("/BigCompany/Building1/E/Panel1", ("/plan", "/Heater/manual"), ""),
            ("/BigCompany/Building1/E", ("/plan",), "group_"),
            ("/BigCompany/Building1/E/Repo/Repo1", ("/catalogue",), "repo_"),
            ("/BigCompany/Water", ("/plan",), "campus_group_"),
            ("/BigCompany/Water/Meter", ("/plan", "/Main/manual"), "campus_"),
            ("/BigCompany/Water/Repo/Repo1", ("/catalogue",), "campus_repo_"),
            ("/BigCompany/DepartmentA/Alice/Phone", ("/photo", "/Photos/1"), "user_"),
        ]
        for path in paths
        for mark, rule in (("", f"#{kind}object"), ("/32=metadata", f"#{kind}metadata"))
    ],
    ("/BigCompany/Building1/E/Panel1/KEY/%01/issuer/v=1", "/BigCompany/Building1", "#panel"),
    ("/BigCompany/Building2/KEY/%01/issuer/v=1", "/BigCompany/BMS", "#building"),
    ("/BigCompany/Building1/E/Repo/Repo1/seq=9", "/BigCompany/Building1/E/Repo/Repo1", "#record"),
    ("/BigCompany/Building1/E/Repo/Repo1/KEY/%01/issuer/v=1", "/BigCompany/Building1/E", "#repo"),
    ("/BigCompany/Water/KEY/%01/issuer/v=1", "/BigCompany/BMS", "#campus_group"),
    ("/BigCompany/Water/Repo/R/KEY/%01/issuer/v=1", "/BigCompany/Water", "#campus_repo"),
    ("/BigCompany/Water/Meter/Main/Flow/seq=1", "/BigCompany/Water/Meter", "#campus_reading"),
    ("/BigCompany/DepartmentA/Alice/Phone/KEY/%01/issuer/v=1", "/BigCompany/DepartmentA/Alice", "#user_device"),
    ("/BigCompany/DepartmentA/Alice/Phone/Steps/seq=1", "/BigCompany/DepartmentA/Alice/Phone", "#user_reading"),
]

BAD = [
    ("/BigCompany/Building1/E/Panel1/Heater/Voltage/1", "/BigCompany/Building1/E/Panel1"),
    ("/BigCompany/Building1/E/Panel1/Heater/Voltage", "/BigCompany/Building1/E/Panel1"),
    ("/BigCompany/Building1/E/Panel2/Heater/Voltage/seq=1", "/BigCompany/Building1/E/Panel1"),
    ("/BigCompany/Building1/W/Panel1/Heater/Voltage/seq=1", "/BigCompany/Building1/E/Panel1"),
    ("/BigCompany/Building3/E/Panel1/Heater/Voltage/seq=1", "/BigCompany/Building3/E/Panel1"),
    ("/BigCompany/Building1/E/Panel1/Heater/Voltage/seq=1", "/BigCompany/Building1"),
    ("/BigCompany/Building1/E/Panel1/plan/seg=0", "/BigCompany/Building1/E/Panel1"),
    ("/BigCompany/Building1/E/Panel1/a/b/c/v=1/seg=0", "/BigCompany/Building1/E/Panel1"),
    ("/BigCompany/Building1/E/Panel2/plan/v=1/seg=0", "/BigCompany/Building1/E/Panel1"),
    ("/BigCompany/Building1/E/Panel1/plan/v=1/seg=0", "/BigCompany/Building1/E"),
    ("/BigCompany/Building1/E/Repo/Repo1/plan/v=1/seg=0", "/BigCompany/Building1/E"),
    ("/BigCompany/Building1/E/Panel1/plan/v=1/seg=0", "/BigCompany/Building1/E/Repo/Repo1"),
    ("/BigCompany/Building1/E/plan/v=1/seg=0", "/BigCompany/Building1/E/Panel1"),
    ("/BigCompany/DepartmentA/Alice/Phone/photo/v=1/seg=0", "/BigCompany/DepartmentA/Alice"),
    ("/BigCompany/Gas/KEY/%01/issuer/v=1", "/BigCompany/BMS"),
    ("/BigCompany/BMS/KEY/%01/issuer/v=1", "/BigCompany/BMS"),
    ("/BigCompany/DepartmentA/Repo/R/KEY/%01/issuer/v=1", "/BigCompany/DepartmentA"),
    ("/BigCompany", "/BigCompany/BMS"),
    ("/", "/BigCompany/BMS"),
]


@pytest.mark.parametrize(("name", "identity", "rule"), GOOD)
def test_the_building_schema_allows(name: str, identity: str, rule: str) -> None:
    assert SCHEMA.rule_for(N(name), certificate(identity)) == rule
    assert SCHEMA.rule_for(N(name), certificate(identity)) == rule  # and so it does when it remembers
    assert SCHEMA.rule_for_key(N(name), certificate(identity).prefix(-2)) == rule
    allowed = [key for key in SCHEMA.keys_for(N(name)) if key.rule == rule]
    assert [key.identity for key in allowed] == [identity]


@pytest.mark.parametrize(("name", "identity"), BAD)
def test_the_building_schema_refuses(name: str, identity: str) -> None:
    assert SCHEMA.rule_for(N(name), certificate(identity)) is None
    assert SCHEMA.rule_for_key(N(name), certificate(identity).prefix(-2)) is None


def test_what_is_remembered_of_one_stream_does_not_leak_to_another() -> None:
    schema = building_schema(COMPANY)
    panel = certificate("/BigCompany/Building1/E/Panel1")
    stream = "/BigCompany/Building1/E/Panel1/Heater/Voltage"
    assert schema.rule_for(N(f"{stream}/seq=1"), panel) == "#reading"
    assert schema.rule_for(N(f"{stream}/v=1"), panel) is None
    assert schema.rule_for(N(f"{stream}/seq=2/seq=1"), panel) is None
    assert schema.rule_for(N(f"{stream}/seq=1"), certificate("/BigCompany/Building1/E/Panel2")) is None


def test_a_rule_that_looks_at_the_last_component_is_not_remembered_for_its_siblings() -> None:
    schema = Schema('#root: "r"/"KEY"/_/_/_\n#data: "d"/x & {x: "a"|"b"} <= #root')
    root = certificate("/r")
    assert [schema.rule_for(N(f"/d/{last}"), root) for last in "abc"] == ["#data", "#data", None]


def test_digests_at_the_end_of_a_name_do_not_count() -> None:
    name = N("/BigCompany/Building1/E/Panel1/Heater/Voltage/seq=1/params-sha256=" + "00" * 32)
    assert SCHEMA.rule_for(name, certificate("/BigCompany/Building1/E/Panel1")) == "#reading"


def test_a_rule_for_data_does_not_make_an_issuer() -> None:
    text = '#KEY: "KEY"/_/_/_\n#root: "c"/#KEY\n#key: "c"/a/#KEY <= #root\n#data: "c"/_/_/_/_/_ <= #key'
    schema = Schema(text + '\n#leaf: "leaf" <= #key')
    forged, panel = N("/c/other/KEY/%01/me/v=1"), N("/c/panel/KEY/%01/c/v=1")
    assert schema.rule_for(forged, panel) == "#data"
    assert schema.rule_for_issuer(forged, panel) is None
    assert schema.rule_for_issuer(forged, N("/c/KEY/%01/self/v=1")) == "#key"


def test_a_constraint_of_the_key_rule_holds_for_what_the_name_has_bound() -> None:
    schema = Schema('#root: "k"/x/"KEY"/_/_/_ & {x: "good"}\n#data: "d"/x <= #root')
    assert schema.rule_for(N("/d/good"), certificate("/k/good")) == "#data"
    assert schema.rule_for(N("/d/bad"), certificate("/k/bad")) is None


def test_levels_of_a_group() -> None:
    campus = Company(N("/Campus"), frozenset({"Hall"}), levels=2)
    schema = building_schema(campus)
    reading = N("/Campus/Hall/Env/floor1/pi1/room1/temp/seq=1")
    assert schema.rule_for(reading, certificate("/Campus/Hall/Env/floor1/pi1")) == "#reading"
    assert schema.rule_for(reading, certificate("/Campus/Hall/Env/floor2/pi1")) is None


def test_names_that_need_escaping() -> None:
    odd = Company(Name.of("Ünïon & Co", "a/b"), frozenset({'Haus "1"', "..", "="}))
    schema = building_schema(odd)
    for building in odd.buildings:
        group = odd.group(building, "Strom #2")
        name = group.stream("P", "D", "M").reading(1)
        key = group.panel("P").name + certificate("/x").suffix(1)
        assert schema.rule_for(name, key) == "#reading"


def test_extra_rules_join_the_generated_ones() -> None:
    extra = '#note: #company/"Notes"/_ <= #root'
    assert building_schema(COMPANY, extra=extra).rule_for(N("/BigCompany/Notes/x"), certificate("/BigCompany/BMS"))


def test_anchor_names() -> None:
    assert SCHEMA.anchors == ["#root"]
    assert SCHEMA.is_anchor_name(N("/BigCompany/BMS/KEY/%01/self/v=1"))
    assert not SCHEMA.is_anchor_name(N("/BigCompany/Building1/KEY/%01/self/v=1"))


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("/BigCompany/Building9/E/P/D/M/seq=1", ["up to /BigCompany;", "Building1|Building2", "not Building9"]),
        ("/BigCompany/Building1/E/P/D/M/5", ["/E/P/D/M/5;", "seq=<number>", "not the end of the name"]),
        ("/Other", ["up to /;", '"BigCompany"', "not Other"]),
        ("/BigCompany/Building1/E", ["<object>", "not the end of the name"]),
        ("/BigCompany/Building1/E/P/D/M/seq=1/extra", ["nothing more", "not extra"]),
    ],
)
def test_nearest_says_how_far_a_name_got(name: str, words: list[str]) -> None:
    said = SCHEMA.nearest(N(name))
    assert [word for word in words if word not in said] == [], said


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('#a: "x"/"KEY"/_/_/_\n#b: "y" <= #missing', ["line 2", "#missing"]),
        ('#a: "x"/y\n#b  "y"', ["line 2", "column", "Light VerSec"]),
        ('#a: "x" <=', ["ends in the middle", "line 1"]),
        ('#a: "x"/#b\n#b: "y"/#a', ["line 1", "Loop"]),
        ('#a: "x" <= #b\n#b: "y" <= #a', ["circle"]),
        ('#a: "k"\n#b: "x"/y & {y: $no("z")} <= #a', ["$no", "$eq_type"]),
        ('#a: "k"\n#b: "zz=y" <= #a', ["trust schema"]),
        ('#a: "x" & {z: "1"}', ["z"]),
        ('#a: "x"', ["no rule is an anchor"]),
        ("", ["no rule is an anchor"]),
    ],
)
def test_a_schema_that_is_wrong_says_where(text: str, words: list[str]) -> None:
    with pytest.raises(BadConfig) as caught:
        Schema(text)
    assert [word for word in words if word not in str(caught.value)] == [], str(caught.value)


def test_what_the_generator_refuses() -> None:
    with pytest.raises(BadConfig, match="nothing to write"):
        building_rules(Company(N("/Empty"), frozenset()))
    with pytest.raises(BadConfig, match="campus-wide"):
        building_rules(COMPANY, [COMPANY.group("Building1", "E")])
