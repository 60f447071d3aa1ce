"""Topics signed with the keys of a home, and believed by its trust schema."""

from __future__ import annotations

import argparse
import asyncio
import os
import time
from pathlib import Path

import pytest

import roost
from roost.cli._flips_reach import add_reach, add_root, check_reach, topics_of
from roost.errors import BadConfig, TimedOut
from roost.host.keystore import KeyStore
from roost.host.mqtt.config import read_config
from roost.host.mqtt.config_flips import FlipsSettings as Section
from roost.host.topics import Content, TopicFeed
from roost.host.topics.signing import home_judge, home_key_for, home_keys
from roost.naming import Name
from roost.pubsub.flips.settings import SIGNED_SEGMENT_BYTES, FlipsSettings, Following
from roost.sim import deployment
from roost.trust import building_rules

QUICK = FlipsSettings(
    probe_lifetime_ms=20,
    probe_timeout_ms=60,
    lifetime_ms=200,
    lead_ms=50,
    segment_bytes=SIGNED_SEGMENT_BYTES,
)
ROOT = deployment.GROUP.name
TOPIC = "pi1/room1/temp"
LIMIT_S = 60


@pytest.fixture
def keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> KeyStore:
    """A home with the key of the panel pi1, and the certificates that belong to it."""
    monkeypatch.setenv("ROOST_HOME", str(tmp_path / "home"))
    store = KeyStore(tmp_path / "home")
    store.create()
    identities = deployment.identities(os.urandom, time.time_ns())
    anchor = identities[deployment.COMPANY.root.name].certificate
    store.save_anchor(anchor)
    store.save_schema(building_rules(deployment.COMPANY))
    store.save_identity(identities[deployment.panel("pi1").name])
    for identity in identities.values():
        if identity.certificate != anchor:
            store.save_certificate(identity.certificate)
    return store


async def first_of(feed: TopicFeed) -> Content:
    item = await anext(feed)
    assert isinstance(item, Content)
    return item


@pytest.mark.usefixtures("keys")
@pytest.mark.parametrize("signed", [True, False])
def test_what_a_home_may_sign_is_signed_and_believed(signed: bool) -> None:
    async def main() -> None:
        keys = home_keys(ROOT) if signed else None
        async with (
            asyncio.timeout(LIMIT_S),
            roost.flips(settings=QUICK, durable=False, key=keys) as ours,
            roost.flips(settings=QUICK, durable=False, judge=home_judge(ROOT)) as theirs,
        ):
            await ours.register(TOPIC)
            await ours.publish(TOPIC, b"21.5" * 1000)
            feed = theirs.subscribe(TOPIC, following=Following(after=99))
            if signed:
                assert (await first_of(feed)).signer.startswith(f"{deployment.panel('pi1').name}/KEY/")
            else:
                with pytest.raises(TimedOut, match="nobody answered"):
                    await feed.ready()

    asyncio.run(main())


@pytest.mark.usefixtures("keys")
def test_a_topic_that_no_key_here_may_sign_is_not_signed() -> None:
    assert home_key_for(ROOT, "pi2/room1/temp") is None
    assert home_key_for(ROOT, TOPIC) is not None

    async def main() -> None:
        async with (
            asyncio.timeout(LIMIT_S),
            roost.flips(settings=QUICK, durable=False, key=home_keys(ROOT)) as ours,
            roost.flips(settings=QUICK, durable=False) as theirs,
        ):
            await ours.register("home/temp")
            await ours.publish("home/temp", b"21.5")
            assert (await first_of(theirs.subscribe("home/temp"))).signer == ""

    asyncio.run(main())


def options_of(*given: str, verifying: bool) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_root(parser, verifying=verifying)
    add_reach(parser)
    parser.set_defaults(topic=TOPIC)
    options = parser.parse_args(given)
    check_reach(options)
    return options


@pytest.mark.usefixtures("keys")
def test_the_shell_signs_by_default_and_verifies_if_it_is_told_to(tmp_path: Path) -> None:
    async def main() -> None:
        at, root = "127.0.0.1:0", ["--root", str(ROOT)]
        publishing = options_of("--listen", at, *root, verifying=False)
        async with asyncio.timeout(LIMIT_S), topics_of(publishing, tmp_path / "kept") as ours:
            await ours.register(TOPIC)
            await ours.publish(TOPIC, b"21.5")
            assert ours.binding.flips.settings.segment_bytes == SIGNED_SEGMENT_BYTES

    asyncio.run(main())
    with pytest.raises(BadConfig, match="leave --verify away"):
        options_of("--ndn", "--verify", verifying=True)


def test_without_a_policy_nothing_can_be_verified(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROOST_HOME", str(tmp_path))
    assert home_keys(ROOT) is None
    with pytest.raises(BadConfig, match="no policy here to verify topics by: run `roost init`"):
        home_judge(ROOT)


def test_the_section_of_a_node_says_where_topics_would_be_streams() -> None:
    here = Path("/etc/roost")
    group = {"name": "/A/B/C", "panel": "Gate1", "repo": "Repo1"}
    into = {"topic": "p/s", "group": "/A/B/C", "stream": "s", "verify": True}
    found = read_config({"groups": [group], "flips": {"root": "/A/B/C", "into": [into]}}, here, here).flips
    assert found is not None
    assert found.root == Name.parse("/A/B/C")
    assert found.into[0].verify
    with pytest.raises(BadConfig, match=r"flips.root: a name starts with '/'"):
        read_config({"flips": {"root": "A"}}, here, here)
    assert Section().root == Name()
