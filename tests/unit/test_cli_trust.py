"""`roost init`, `roost keys` and `roost trust explain`, as a person would type them."""

import os
import random
import re
from pathlib import Path

import pytest

from roost.cli import main
from roost.host.keystore import KeyStore
from roost.naming import Name
from roost.trust import export_safebag, generate, import_safebag, self_sign
from roost.trust.identity import request
from roost.wire import DigestSigner, encode_data, sign_interest
from roost.wire.safebag import from_text, to_text

READING = "/BigCompany/Building1/Electricity/Panel1/Heater/Voltage/seq=1"
NOW = 1_900_000_000_000_000_000  # for signing only: the commands read the real clock


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ROOST_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("ROOST_PASSPHRASE", raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path / "home"


@pytest.fixture
def made(home: Path) -> Path:
    assert main(["init", "--company", "BigCompany", "--department", "DepartmentA", "--campus", "Water"]) == 0
    return home


def says(capsys: pytest.CaptureFixture[str], *command: str, status: int = 0) -> str:
    capsys.readouterr()
    assert main(command) == status
    printed = capsys.readouterr()
    assert "Traceback" not in printed.err
    return printed.out + printed.err


def test_init_makes_everything_in_one_step(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    printed = says(
        capsys, "init", "--company", "/org/BigCompany", "--building", "A", "--building", "B", "--system", "Env/1"
    )
    for word in (
        "/org/BigCompany/BMS/KEY/",
        "/org/BigCompany/B/KEY/",
        "/A/Env/1/Panel1/KEY/",
        "/Repo/Repo1/KEY/",
        "next",
    ):
        assert word in printed
    store = KeyStore(home)
    assert len(store.private_keys()) == 6
    assert len(store.anchors()) == 1
    assert (home.stat().st_mode & 0o777) == 0o700


def test_init_never_overwrites(made: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = {path: path.read_bytes() for path in made.rglob("*") if path.is_file()}
    refusal = says(capsys, "init", status=1)
    assert (
        "already holds keys: `roost up` runs its node; one more key there, as of another repo, is made by " in refusal
    )
    assert before == {path: path.read_bytes() for path in made.rglob("*") if path.is_file()}


def test_init_that_is_asked_for_the_impossible_leaves_nothing(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "cannot name a place" in says(capsys, "init", "--panel", "Repo", status=1)
    assert "already" not in says(capsys, "init")
    assert KeyStore(home).exists


def test_without_a_store_every_verb_says_roost_init(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "roost init" in says(capsys, "keys", "list", status=1)
    assert "roost init --join ANCHOR" in says(capsys, "trust", "explain", "/a", status=1)
    assert not home.exists()


def test_explain_a_name(made: Path, capsys: pytest.CaptureFixture[str]) -> None:
    printed = says(capsys, "trust", "explain", READING)
    assert "#reading" in printed
    assert "signs" in printed
    other = says(capsys, "trust", "explain", READING.replace("Panel1", "Panel2"), status=1)
    assert "none of these keys is here" in other
    assert "roost key make /BigCompany/Building1/Electricity/Panel2" in other
    assert "neither a file nor a name" in says(capsys, "trust", "explain", "Panel1", status=1)
    assert made.exists()


@pytest.mark.parametrize(
    ("below", "shapes", "rules"),
    [
        ("hello", ["an object: its segments", "an object: its metadata"], ["#object", "#metadata"]),
        ("folder/hello", ["a stream: its readings", "an object: its segments"], ["#reading", "#object", "#metadata"]),
        ("hello/v=3", ["a version of an object"], ["#object"]),
        ("hello/32=metadata", ["the metadata of an object"], ["#metadata"]),
    ],
)
def test_explain_a_name_that_something_is_published_under(
    made: Path, capsys: pytest.CaptureFixture[str], below: str, shapes: list[str], rules: list[str]
) -> None:
    panel = "/BigCompany/Building1/Electricity/Panel1"
    printed = says(capsys, "trust", "explain", f"{panel}/{below}")
    assert all(shape in printed for shape in shapes)
    assert re.findall(r"^  rule +(.*)$", printed, re.MULTILINE) == rules
    assert re.findall(r"^  signs +(.*)/KEY/", printed, re.MULTILINE) == [panel]
    elsewhere = says(capsys, "trust", "explain", f"{panel.replace('Panel1', 'Panel2')}/{below}", status=1)
    assert re.search(r"^  reason +none of these keys is here$", elsewhere, re.MULTILINE)
    assert made.exists()


def test_explain_a_name_that_nothing_is_published_under(made: Path, capsys: pytest.CaptureFixture[str]) -> None:
    deep = says(capsys, "trust", "explain", "/BigCompany/Building1/Electricity/Panel1" + "/a" * 17, status=1)
    assert re.search(r"^  reason +the name fits rules .* up to ", deep, re.MULTILINE)
    assert re.search(r"^  rule +none$", deep, re.MULTILINE)
    anchor = str(KeyStore(made).anchors()[0].name)
    assert "it is the name of an anchor" in says(capsys, "trust", "explain", anchor, status=1)


def test_explain_the_certificate_in_a_safebag(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ROOST_PASSPHRASE", "correct horse battery staple")
    panel, bag = "/BigCompany/Building1/Electricity/Panel1", tmp_path / "panel.safebag"
    says(capsys, "keys", "export", panel, str(bag))
    printed = says(capsys, "trust", "explain", str(bag))
    assert printed.startswith(f"Data {panel}/KEY/")
    assert re.search(r"^  trusted yes\n  rule +#panel$", printed, re.MULTILINE)
    stranger = self_sign(generate(Name.parse("/Stranger"), random.Random(1).randbytes), NOW)
    bag.write_bytes(export_safebag(stranger, b"correct horse battery staple"))
    assert "trusted no" in says(capsys, "trust", "explain", str(bag), status=1)
    assert made.exists()


def test_explain_a_packet_file(made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    keychain = KeyStore(made).keychain()
    panel = next(identity for identity in keychain.identities if identity.name.at(-1).value == b"Panel1")
    good = encode_data(Name.parse(READING), b"21.5", panel.signer)
    file = tmp_path / "packet"
    for content in (good, to_text(good).encode()):
        file.write_bytes(content)
        printed = says(capsys, "trust", "explain", str(file))
        assert "trusted yes" in printed
        assert "(anchor)" in printed
    cases = {
        "altered": good.replace(b"21.5", b"99.9"),
        "may not sign": encode_data(Name.parse(READING.replace("Panel1", "Panel2")), b"", panel.signer),
        "digest": encode_data(Name.parse(READING), b"", DigestSigner()),
        "not here": encode_data(
            Name.parse(READING), b"", generate(Name.parse(READING).prefix(-3), random.Random(1).randbytes)
        ),
    }
    for word, wire in cases.items():
        file.write_bytes(wire)
        printed = says(capsys, "trust", "explain", str(file), status=1)
        assert word in printed
        assert "fix" in printed
    file.write_bytes(sign_interest(Name.parse(READING), panel.signer, time_ms=1, signature_nonce=b"12345678"))
    assert "trusted yes" in says(capsys, "trust", "explain", str(file))


def test_keys_list_make_and_explain(made: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert says(capsys, "keys", "list").count("\n") == 5
    assert "certificate /BigCompany/DepartmentA/KEY/" in says(capsys, "keys", "make", "/BigCompany/DepartmentA")
    assert "/BigCompany/DepartmentA/KEY/" in says(capsys, "keys", "list")
    unlisted = says(capsys, "keys", "make", "/BigCompany/DepartmentB", status=1)
    assert "no rule of the schema" in unlisted
    assert f"rule #site of {made / 'schema.lvs'}, departments in #people: add it there" in unlisted
    assert "anchor" in says(capsys, "keys", "make", "/BigCompany/BMS", status=1)
    assert len(KeyStore(made).private_keys()) == 6


def test_a_second_key_is_made_only_when_asked_for(made: Path, capsys: pytest.CaptureFixture[str]) -> None:
    again = says(capsys, "keys", "make", "/BigCompany/Building1", status=1)
    assert "/BigCompany/Building1 has a key here already, /BigCompany/Building1/KEY/" in again
    assert "--another" in again
    assert len(KeyStore(made).private_keys()) == 5
    assert "certificate" in says(capsys, "keys", "make", "--another", "/BigCompany/Building1")
    assert len(KeyStore(made).private_keys()) == 6


def test_who_joins_needs_an_anchor_and_the_schema_it_belongs_to(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    anchor, building = str(tmp_path / "anchor"), str(tmp_path / "building")
    says(capsys, "keys", "certificate", "/BigCompany/BMS", anchor)
    says(capsys, "keys", "certificate", "/BigCompany/Building1", building)
    assert "no certificate of /Nobody" in says(capsys, "keys", "certificate", "/Nobody", "x", status=1)
    rules = ("--schema", str(made / "schema.lvs"))
    monkeypatch.setenv("ROOST_HOME", str(tmp_path / "second"))
    assert "go together" in says(capsys, "init", "--join", anchor, status=1)
    assert "leave out --company" in says(capsys, "init", "--join", anchor, *rules, "--company", "X", status=1)
    assert "do not belong together" in says(capsys, "init", "--join", building, *rules, status=1)
    assert "none cannot be read" in says(capsys, "init", "--join", anchor, "--schema", str(tmp_path / "none"), status=1)
    assert not (tmp_path / "second").exists()


@pytest.mark.parametrize("company", ["", "/", " "])
def test_a_company_has_a_name(home: Path, capsys: pytest.CaptureFixture[str], company: str) -> None:
    assert "is no name" in says(capsys, "init", "--company", company, status=1)
    assert not home.exists()


def test_a_home_without_its_keys_says_so(made: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (made / "keys").rename(made / "away")
    assert f"{made / 'keys'} is missing: restore it" in says(capsys, "keys", "list", status=1)


def test_a_panel_is_certified_across_two_machines(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    remote = tmp_path / "panel"
    panel = "/BigCompany/Building1/Electricity/Panel2"
    written = says(capsys, "keys", "certificate", "/BigCompany/BMS", str(tmp_path / "anchor.cert"))
    monkeypatch.setenv("ROOST_HOME", str(remote))
    joined = says(capsys, "init", "--join", str(tmp_path / "anchor.cert"), "--schema", str(made / "schema.lvs"))
    assert written.split("SHA-256 ")[1].strip() in joined
    assert KeyStore(remote).private_keys() == []
    assert "its issuer is elsewhere" in says(capsys, "keys", "make", panel)
    assert "uncertified" in says(capsys, "keys", "list")
    file = tmp_path / "BigCompany-Building1-Electricity-Panel2.request"
    monkeypatch.setenv("ROOST_HOME", str(made))
    assert "until" in says(capsys, "keys", "certify", str(file), str(tmp_path / "panel2.cert"))
    monkeypatch.setenv("ROOST_HOME", str(remote))
    took = says(capsys, "keys", "import", str(tmp_path / "panel2.cert"))
    assert "took certificate" in took
    assert "with it /BigCompany/Building1/KEY/" in took, "the certificates above it come with it"
    assert [str(each.identity) for each in KeyStore(remote).certificates() if str(each.identity) != panel] == [
        "/BigCompany/Building1"
    ]
    assert "TRUSTED" in says(capsys, "trust", "explain", str(tmp_path / "panel2.cert")).upper()
    assert "signs" in says(capsys, "trust", "explain", READING.replace("Panel1", "Panel2"))


def test_an_empty_file_is_no_certificate(made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "empty").touch()
    says(capsys, "keys", "import", str(tmp_path / "empty"), status=1)
    assert KeyStore(made).certificates()


def test_certify_refuses_what_the_schema_refuses(
    made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:

    asked = request(generate(Name.parse("/Elsewhere"), os.urandom), NOW)
    (tmp_path / "asked").write_text(to_text(asked.wire))
    printed = says(capsys, "keys", "certify", str(tmp_path / "asked"), str(tmp_path / "out"), status=1)
    assert "cannot be signed by anyone" in printed
    assert not (tmp_path / "out").exists()
    assert made.exists()


def test_export_and_import_with_a_passphrase_from_file_or_environment(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    secret = "correct horse battery staple"
    (tmp_path / "pass").write_text(secret + "\n")
    bag = tmp_path / "root.safebag"
    options = ("--passphrase-file", str(tmp_path / "pass"))
    printed = says(capsys, "keys", "export", "/BigCompany/BMS", str(bag), *options)
    assert secret not in printed
    assert (bag.stat().st_mode & 0o777) == 0o600
    identity = import_safebag(from_text(bag.read_text()), secret.encode())
    for path in (made / "keys").iterdir():
        if str(identity.key.name) in path.read_text():
            path.unlink()
    monkeypatch.setenv("ROOST_PASSPHRASE", "wrong")
    assert "passphrase is wrong" in says(capsys, "keys", "import", str(bag), status=1)
    monkeypatch.setenv("ROOST_PASSPHRASE", secret)
    assert "took certificate" in says(capsys, "keys", "import", str(bag))
    assert identity.key.name in {key.name for key in KeyStore(made).private_keys()}
    assert "no key of" in says(capsys, "keys", "export", "/Nobody", str(bag), status=1)


def test_a_passphrase_is_never_an_argument_and_never_empty(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(["keys", "export", "/BigCompany/BMS", "x", "--passphrase", "secret"])
    assert "no terminal" in says(capsys, "keys", "export", "/BigCompany/BMS", "x", status=1)
    monkeypatch.setenv("ROOST_PASSPHRASE", "")
    assert "empty" in says(capsys, "keys", "export", "/BigCompany/BMS", "x", status=1)
    assert "cannot be read" in says(
        capsys, "keys", "export", "/BigCompany/BMS", "x", "--passphrase-file", str(tmp_path / "none"), status=1
    )
    assert not (tmp_path / "x").exists()
    assert made.exists()


def test_an_anchor_is_imported_only_if_the_schema_has_such_anchors(
    made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    certificate = KeyStore(made).certificates()[0]
    (tmp_path / "c").write_text(to_text(certificate.wire))
    assert "not named as the schema's anchors" in says(
        capsys, "keys", "import", "--anchor", str(tmp_path / "c"), status=1
    )
    (tmp_path / "a").write_text(to_text(KeyStore(made).anchors()[0].wire))
    assert "took anchor" in says(capsys, "keys", "import", "--anchor", str(tmp_path / "a"))


def test_open_keys_are_refused_with_a_sentence(made: Path, capsys: pytest.CaptureFixture[str]) -> None:
    next((made / "keys").iterdir()).chmod(0o644)
    assert "open to other users" in says(capsys, "keys", "list", status=1)


def test_a_safebag_that_is_refused_as_an_anchor_leaves_no_key(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ROOST_PASSPHRASE", "correct horse battery staple")
    stranger = self_sign(generate(Name.parse("/Stranger"), random.Random(1).randbytes), NOW)
    (tmp_path / "bag").write_bytes(export_safebag(stranger, b"correct horse battery staple"))
    before = len(KeyStore(made).private_keys())
    assert "not named as" in says(capsys, "keys", "import", "--anchor", str(tmp_path / "bag"), status=1)
    assert len(KeyStore(made).private_keys()) == before


def test_a_passphrase_file_that_is_no_text_is_named(
    made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "noise").write_bytes(b"\xff\xfe")
    said = says(
        capsys, "keys", "export", "/BigCompany/BMS", "bag", "--passphrase-file", str(tmp_path / "noise"), status=1
    )
    assert "noise cannot be read: it is not text" in said
    assert made.exists()
