"""What is said of an address that cannot be had, to whoever gave it as a letter or in a configuration."""

from __future__ import annotations

import errno

import pytest

from roost.host.listen import in_use


@pytest.mark.parametrize("scheme", ["tcp", "udp", "ws"])
@pytest.mark.parametrize("number", [errno.EADDRINUSE, errno.EADDRNOTAVAIL])
def test_both_the_letter_and_the_key_of_the_configuration_are_named(number: int, scheme: str) -> None:
    said = in_use(OSError(number, "it cannot be had"), scheme)
    assert f"--{scheme} HOST:PORT" in said
    assert "for `roost mqtt`" in said
    assert f"node.{scheme} in its configuration" in said
