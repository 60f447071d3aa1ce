"""The reference of the configuration is what the sample says, and the sample's keys are read from it rightly."""

from tests.docs.configuration import DOCUMENT, Key, document, keys, uncommented

SAMPLE = """\
# A sentence: with a colon.

listeners:                     # where
  - tcp: 127.0.0.1:1883        # plain
#  - tls: 0.0.0.0:8883
#    key: server.key           # private

# roles:                       # who
#   hold: true                 # a,
#                              # b
"""


def test_the_page_is_what_the_sample_says() -> None:
    assert DOCUMENT.read_text(encoding="utf-8") == document(), (
        "run: python -m tests.docs.configuration > docs/configuration.md"
    )


def test_keys_are_read_with_their_paths() -> None:
    assert keys(SAMPLE) == [
        Key("listeners", "", holds=True, meaning="where"),
        Key("listeners[].tcp", "127.0.0.1:1883", holds=True, meaning="plain"),
        Key("listeners[].tls", "0.0.0.0:8883", holds=False, meaning=""),
        Key("listeners[].key", "server.key", holds=False, meaning="private"),
        Key("roles", "", holds=False, meaning="who"),
        Key("roles.hold", "true", holds=False, meaning="a, b"),
    ]


def test_what_is_commented_out_can_count() -> None:
    assert uncommented(SAMPLE).splitlines() == [
        "listeners: ",
        "  - tcp: 127.0.0.1:1883",
        "  - tls: 0.0.0.0:8883",
        "    key: server.key",
        "roles: ",
        "   hold: true",
    ]
