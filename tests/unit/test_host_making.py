"""`roost init` interrupted anywhere: nothing is left behind, or the next one finishes it."""

import fcntl
import os
from pathlib import Path

import pytest

from roost.cli import main
from roost.errors import BadConfig
from roost.host.keystore import KeyStore
from roost.host.making import PARTS, finish, new_store

RULES = '#KEY: "KEY"/_/_/_\n#root: "c"/#KEY\n#data: "c"/_ <= #root\n'


def names(home: Path) -> list[str]:
    return sorted(path.name for path in home.iterdir())


def fill(home: Path) -> None:
    with new_store(home) as store:
        store.save_schema(RULES)


def test_a_store_is_there_when_it_is_whole(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with new_store(home) as store:
        store.save_schema(RULES)
        assert not KeyStore(home).exists
    assert KeyStore(home).schema().text == RULES
    KeyStore(home).check()
    assert names(home) == sorted(PARTS)
    with pytest.raises(BadConfig, match="already holds keys"):
        fill(home)


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError, BadConfig])
def test_an_interrupted_one_leaves_nothing(tmp_path: Path, error: type[BaseException]) -> None:
    def interrupted() -> None:
        with new_store(tmp_path / "home") as store:
            store.save_schema(RULES)
            raise error

    with pytest.raises(error):
        interrupted()
    assert not (tmp_path / "home").exists()
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "node.sock").touch()
    with pytest.raises(error):
        interrupted()
    assert names(tmp_path / "home") == ["node.sock"]


def test_what_a_killed_one_left_is_swept_away(tmp_path: Path) -> None:
    (tmp_path / ".init" / "keys").mkdir(parents=True)
    (tmp_path / ".init" / "keys" / "half.key").touch()
    fill(tmp_path)
    assert names(tmp_path) == sorted(PARTS)
    assert names(tmp_path / "keys") == []


@pytest.mark.parametrize("moved", range(len(PARTS) + 1))
def test_one_that_was_made_and_half_moved_is_finished(
    tmp_path: Path, moved: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    home = tmp_path / "home"
    monkeypatch.setenv("ROOST_HOME", str(home))
    with monkeypatch.context() as patch:
        rename = Path.rename
        steps = iter(range(100))

        def until_the_power_fails(path: Path, target: Path) -> Path:
            if next(steps) > moved:  # the first puts `.made` in place
                raise RuntimeError("no power")
            return rename(path, target)

        patch.setattr(Path, "rename", until_the_power_fails)
        if moved < len(PARTS):
            with pytest.raises(RuntimeError):
                main(["init"])
            assert not (home / "schema.lvs").exists()
    if moved == len(PARTS):
        main(["init"])
        assert not finish(home)
    else:
        assert main(["init"]) == 0
        assert "finished" in capsys.readouterr().out
    assert names(home) == sorted([*PARTS, "roost.yaml"])
    assert len(KeyStore(home).keychain().identities) == 5
    assert main(["init"]) == 1


def test_two_at_once_do_not_mix(tmp_path: Path) -> None:
    descriptor = os.open(tmp_path, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        with pytest.raises(BadConfig, match="another `roost init`"):
            fill(tmp_path)
    finally:
        os.close(descriptor)
    fill(tmp_path)


def test_a_home_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(BadConfig, match="file/home cannot be used: Not a directory"):
        fill(tmp_path / "file" / "home")
