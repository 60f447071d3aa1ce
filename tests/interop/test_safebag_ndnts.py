"""SafeBags both ways with NDNts (@ndn/ndnsec), whose encryption is that of ndn-cxx's `ndnsec`."""

import base64
import os
import random
import subprocess
from pathlib import Path

import pytest
from tests.trust_world import NOW

from roost.errors import BadPacket
from roost.naming import Name
from roost.trust import export_safebag, generate, import_safebag, load_public, self_sign
from roost.trust.generate import Kind
from roost.wire import Data, make_data
from roost.wire.safebag import from_text, to_text

HERE = Path(__file__).parent / "ndnts"
PASSPHRASE = "correct horse battery staple"
KINDS: list[Kind] = ["ecdsa", "rsa"]  # NDNts does not import Ed25519 SafeBags


@pytest.fixture(scope="module", autouse=True)
def packages() -> None:
    if not (HERE / "node_modules" / "@ndn" / "ndnsec").is_dir():
        missing = (
            "the npm package @ndn/ndnsec is not installed in tests/interop/ndnts: run `make test`, which installs it"
        )
        if os.environ.get("ROOST_RUN"):
            pytest.fail(missing)
        pytest.skip(missing)


def ndnts(stdin: str, *arguments: str) -> bytes:
    command = ["node", "safebag.mjs", *arguments]
    ran = subprocess.run(command, cwd=HERE, input=stdin, capture_output=True, text=True, timeout=60, check=False)
    assert ran.returncode == 0, ran.stderr
    return base64.b64decode(ran.stdout)


@pytest.mark.parametrize("kind", KINDS)
def test_ndnts_imports_what_we_export_and_signs_with_it(kind: Kind) -> None:
    identity = self_sign(generate(Name.parse("/alice"), random.Random(1).randbytes, kind), NOW)
    bag = to_text(export_safebag(identity, PASSPHRASE.encode()))
    signed = Data.decode(ndnts(f"{PASSPHRASE}\n{bag}", "import"))
    assert signed.signature.key_name is not None
    assert signed.signature.key_name.starts_with(identity.key.name)
    assert load_public(identity.certificate.public_key).verify(signed.signed_portion, signed.signature_value)


@pytest.mark.parametrize("kind", KINDS)
def test_we_import_what_ndnts_exports_and_sign_with_it(kind: Kind) -> None:
    wire = ndnts(f"{PASSPHRASE}\n", "export", kind)
    identity = import_safebag(from_text(to_text(wire)), PASSPHRASE.encode())
    assert identity.name == Name.parse("/alice")
    data = make_data(Name.parse("/x"), b"", identity.signer)
    assert load_public(identity.certificate.public_key).verify(data.signed_portion, data.signature_value)
    with pytest.raises(BadPacket, match="passphrase is wrong"):
        import_safebag(wire, b"wrong")
