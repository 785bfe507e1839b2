"""ci/apt-source-entries keeps the distribution's own entries, whatever form they have."""

from conftest import load

entries = load("apt-source-entries")

SOURCES = """# a comment
Types: deb
URIs: http://mirror.example/debian
Suites: bookworm bookworm-updates
Components: main contrib
Signed-By: /usr/share/keyrings/archive.gpg

Types: deb
URIs: http://vendor.example/node
Suites: nodistro
Components: main

Enabled: no
Types: deb
URIs: http://off.example/debian
Suites: bookworm
Components: main

Types: deb
URIs: http://inline.example/debian
Suites: bookworm-security
Components: main
Signed-By:
 -----BEGIN PGP PUBLIC KEY BLOCK-----
 .
 abc
"""
LIST = """# deb http://commented.example/debian bookworm main
deb [arch=amd64 signed-by=/a.gpg] http://one.example/debian bookworm main  # words
deb http://vendor.example/pg bookworm-pgdg main
deb http://vendor.example/docker bookworm stable
deb-src http://two.example/debian bookworm/updates main
"""


def kept(stanzas: list[dict[str, str]]) -> list[dict[str, str]]:
    """What is left of stanzas on Debian 12."""
    parts = (entries.distribution_part(stanza, "bookworm") for stanza in stanzas)
    return [part for part in parts if part is not None]


def test_deb822() -> None:
    first, inline = kept(entries.read_deb822(SOURCES))
    assert first == {
        "URIs": "http://mirror.example/debian",
        "Suites": "bookworm bookworm-updates",
        "Components": "main",
        "Signed-By": "/usr/share/keyrings/archive.gpg",
    }
    assert inline["Signed-By"].splitlines()[1:] == [
        " -----BEGIN PGP PUBLIC KEY BLOCK-----",
        " .",
        " abc",
    ]


def test_one_line() -> None:
    assert kept(entries.read_one_line(LIST)) == [
        {
            "URIs": "http://one.example/debian",
            "Suites": "bookworm",
            "Components": "main",
            "Signed-By": "/a.gpg",
        },
        {
            "URIs": "http://two.example/debian",
            "Suites": "bookworm/updates",
            "Components": "main",
        },
    ]
