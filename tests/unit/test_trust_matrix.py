"""The accept/reject matrix of evaluations.md §4.3, case by case, with real keys and certificates [NDN-PS §III-E]."""

import pytest
from tests.trust_world import NOW, ROOT, STREAM, World, data, rule_of, settle

from roost.machine import SECOND
from roost.naming import Name
from roost.trust import Rejection, Verdict
from roost.wire import Data, Signer
from roost.wire.certificate import Certificate, encode_certificate

B1 = "/BigCompany/Building1"
GROUP = f"{B1}/Electricity"
PANEL1 = f"{GROUP}/Panel1"
PANEL2 = f"{GROUP}/Panel2"
REPO1 = f"{GROUP}/Repo/Repo1"
REPO2 = f"{GROUP}/Repo/Repo2"
READING = f"{STREAM}/seq=1"


@pytest.fixture(scope="module")
def world() -> World:
    return World()


def judge(world: World, packet: Data, extra: tuple[Certificate, ...] = (), now: int = NOW) -> Verdict:
    return settle(world.verifier(), packet, (*extra, *world.certificates()), now)


def refused(verdict: Verdict, *words: str) -> Rejection:
    assert isinstance(verdict, Rejection), verdict
    said = f"{verdict} {verdict.rule}"
    assert [word for word in words if word not in said] == [], said
    assert verdict.fix, "a rejection says what would mend it"
    return verdict


# -- must accept ------------------------------------------------------------------------------------------------------


def test_accept_sensor_chain(world: World) -> None:
    verdict = judge(world, data(READING, world[PANEL1]))
    assert rule_of(verdict) == "#reading"
    assert [str(name.prefix(-4)) for name in verdict.chain] == [PANEL1, B1, ROOT]  # type: ignore[union-attr]


def test_accept_user_device_chain(world: World) -> None:
    phone = world["/BigCompany/DepartmentA/Alice/Phone"]
    verdict = judge(world, phone.certificate.data)
    assert rule_of(verdict) == "#user_device"
    assert [str(name.prefix(-4)) for name in verdict.chain] == [  # type: ignore[union-attr]
        "/BigCompany/DepartmentA/Alice",
        "/BigCompany/DepartmentA",
        ROOT,
    ]
    assert rule_of(judge(world, data("/BigCompany/DepartmentA/Alice/Phone/Steps/seq=1", phone))) == "#user_reading"


def test_accept_repo_chain(world: World) -> None:
    verdict = judge(world, data(f"{REPO1}/seq=1", world[REPO1]))
    assert rule_of(verdict) == "#record"
    assert [str(name.prefix(-4)) for name in verdict.chain] == [REPO1, GROUP, B1, ROOT]  # type: ignore[union-attr]


def test_accept_campus_wide_repo_whose_group_key_the_root_has_signed(world: World) -> None:
    verdict = judge(world, data("/BigCompany/Water/Repo/Repo1/seq=1", world["/BigCompany/Water/Repo/Repo1"]))
    assert rule_of(verdict) == "#campus_record"
    assert [str(name.prefix(-4)) for name in verdict.chain] == [  # type: ignore[union-attr]
        "/BigCompany/Water/Repo/Repo1",
        "/BigCompany/Water",
        ROOT,
    ]


# -- must reject ------------------------------------------------------------------------------------------------------


def test_reject_panel1_key_signing_panel2_data(world: World) -> None:
    verdict = judge(world, data(f"{PANEL2}/Projector/Voltage/seq=1", world[PANEL1]))
    refused(verdict, "#reading", PANEL1, f"sign it with a key of {PANEL2}")


def test_reject_panel_key_signing_repo_data(world: World) -> None:
    refused(judge(world, data(f"{REPO1}/seq=1", world[PANEL1])), "#record", REPO1)


def test_reject_repo1_key_signing_repo2_data(world: World) -> None:
    refused(judge(world, data(f"{REPO2}/seq=1", world[REPO1])), "#record", f"sign it with a key of {REPO2}")


def test_reject_repo_key_signing_sensor_data(world: World) -> None:
    refused(judge(world, data(READING, world[REPO1])), "#reading", f"sign it with a key of {PANEL1}")


def test_reject_building2_key_in_a_building1_chain(world: World) -> None:
    panel = world.made(PANEL1, world["/BigCompany/Building2"])
    refused(judge(world, data(READING, panel), (panel.certificate,)), "#panel", "may not certify", f"certified by {B1}")


def test_reject_building2_signing_building1_data_directly(world: World) -> None:
    refused(judge(world, data(READING, world["/BigCompany/Building2"])), "#reading")


def test_reject_department_key_signing_a_panel_key(world: World) -> None:
    panel = world.made(PANEL1, world["/BigCompany/DepartmentA"])
    refused(judge(world, data(READING, panel), (panel.certificate,)), "#panel", "may not certify", f"certified by {B1}")


def test_reject_group_key_signing_a_panel_key(world: World) -> None:
    panel = world.made(PANEL1, world[GROUP])
    refused(judge(world, data(READING, panel), (panel.certificate,)), "#panel", "may not certify")


def test_reject_building_key_that_is_not_signed_by_the_root(world: World) -> None:
    building = world.made(B1, world["/BigCompany/Building2"])
    panel = world.made(PANEL1, building)
    extra = (panel.certificate, building.certificate)
    refused(judge(world, data(READING, panel), extra), "#building", "may not certify", f"certified by {ROOT}")


def test_reject_expired_intermediate(world: World) -> None:
    building = world.made(B1, world[ROOT], lifetime=100 * SECOND)
    panel = world.made(PANEL1, building)
    packet, extra = data(READING, panel), (panel.certificate, building.certificate)
    assert rule_of(judge(world, packet, extra)) == "#reading"
    later = NOW + 200 * SECOND
    # the panel's certificate ends with its issuer's, so it is named; have one that is longer to see the issuer's end
    refused(judge(world, packet, extra, later), "validity", "ended at")
    wire = encode_certificate(
        panel.key.name,
        panel.key.public.spki,
        building.signer,
        version=2,
        not_before=NOW,
        not_after=NOW + 10**6 * SECOND,
    )
    longer = Certificate.decode(wire)
    verdict = refused(judge(world, packet, (longer, building.certificate), later), "validity", "ended at")
    assert verdict.key == building.certificate.name


def test_reject_certificate_that_is_not_valid_yet(world: World) -> None:
    early = NOW - 1000 * SECOND
    verdict = judge(world, data(READING, world[PANEL1]), now=early)
    refused(verdict, "validity", "begins at")


def test_reject_missing_intermediate(world: World) -> None:
    served = [held for held in world.certificates() if held.identity != Name.parse(B1)]
    verdict = settle(world.verifier(), data(READING, world[PANEL1]), served)
    rejection = refused(verdict, "could not be fetched", B1)
    assert rejection.key is not None
    assert rejection.key.starts_with(Name.parse(B1))


def test_reject_right_chain_altered_content(world: World) -> None:
    packet = data(READING, world[PANEL1], b"21.5")
    altered = Data.decode(packet.wire.replace(b"21.5", b"99.9"))
    refused(judge(world, altered), "#reading", "altered")
    verifier = world.verifier()
    assert rule_of(settle(verifier, packet, world.certificates())) == "#reading"
    refused(verifier.check(altered, NOW), "#reading", "altered")  # and so it is when the chain is known


def test_reject_foreign_anchor_with_identical_names(world: World) -> None:
    foreign = World(seed=666)
    packet = data(READING, foreign[PANEL1])
    said = ("another trust anchor than ours", str(world.anchor.key.name), "roost init --join")
    rejection = refused(settle(world.verifier(), packet, foreign.certificates()), *said)
    assert rejection.key == foreign.anchor.certificate.name
    assert not rejection.for_now


def test_reject_foreign_chain_whose_root_key_is_named_exactly_like_ours(world: World) -> None:
    class Masked:
        """Signs with its own key under the name of our root's."""

        signature_type = world[ROOT].signer.signature_type
        key_locator = world[ROOT].signer.key_locator

        def sign(self, portion: bytes) -> bytes:
            return World(seed=666)[ROOT].signer.sign(portion)

    signer: Signer = Masked()
    building = world.made(B1, world[ROOT])
    wire = encode_certificate(
        building.key.name,
        building.key.public.spki,
        signer,
        version=1,
        not_before=NOW,
        not_after=NOW + SECOND * 10**6,
    )
    fake = Certificate.decode(wire)
    panel = world.made(PANEL1, building)
    verdict = settle(world.verifier(), data(READING, panel), [panel.certificate, fake])
    refused(verdict, "#building", "altered or forged")


# -- what members of a group tell each other in sync ------------------------------------------------------------------

PSYNC = f"{GROUP}/32=sync"
TOLD = {
    f"{GROUP}/v=3": "#vector",
    f"{PSYNC}/table/7/v=1/seg=0": "#sync_reply",
    f"{PSYNC}/hello/table/v=1/seg=0": "#sync_reply",
    f"{PSYNC}/sync/6/1/bloom/had/has/v=1/seg=0": "#bloom_reply",
    f"{PSYNC}/sync/6/1/bloom/had/has/seg=0": "#bloom_nack",
    f"{PSYNC}/sync/32=ranges/all/had/has/v=1/seg=0": "#ranges_reply",
    f"{PSYNC}/sync/32=ranges/all/had/has/seg=0": "#ranges_nack",
}


@pytest.mark.parametrize("name", TOLD)
@pytest.mark.parametrize("member", [PANEL1, REPO1, GROUP])
def test_accept_what_a_group_s_panels_repos_and_key_tell_in_sync(world: World, name: str, member: str) -> None:
    assert rule_of(judge(world, data(name, world[member]))) == TOLD[name]


@pytest.mark.parametrize("name", TOLD)
def test_reject_what_strangers_to_the_group_tell_in_sync(world: World, name: str) -> None:
    refused(judge(world, data(name, world["/BigCompany/DepartmentA/Alice/Phone"])), "may not sign")
