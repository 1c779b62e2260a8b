"""Names of contents: read by the host that made them, and made by no other."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from agenthost.host.channels.changeset.blobs import BlobName, BlobUris, content_type_of

BLOB = "0123456789" * 4


@given(
    # No session is called nothing.
    st.text().map(lambda t: "s" + t.encode(errors="replace").decode().replace("\n", "")),
    st.text().map(lambda t: t.encode(errors="replace").decode()),
)
def test_a_name_says_what_it_was_made_of(session: str, name: str) -> None:
    uris = BlobUris()
    uri = uris.mint(session, BLOB, f"/some/{name}")
    assert uri.isprintable()
    assert uri.isascii()
    assert uris.read(uri) == BlobName(session, BLOB, name.rpartition("/")[2])
    assert BlobUris().read(uri) is None


def test_a_name_of_no_text_can_be_said() -> None:
    uris = BlobUris()
    found = uris.read(uris.mint("ahp-session:/s", BLOB, "\udcff"))
    assert found is not None
    assert found.blob == BLOB


def test_two_contents_of_a_file_have_one_path() -> None:
    # Editors show it, and say of two different ones that the file was renamed.
    uris = BlobUris()
    paths = {
        uris.mint("ahp-session:/s", blob, "/r/a b.py").partition("?")[0]
        for blob in (BLOB, BLOB[::-1])
    }
    assert paths == {"git-blob:/r/a%20b.py"}


def test_a_signature_is_for_one_session_and_one_content() -> None:
    uris = BlobUris()
    one, other = (uris.mint(f"ahp-session:/{name}", BLOB, "a") for name in "ab")
    whose, _, rest = other.partition("?")[2].partition(".")
    assert uris.read(f"git-blob:/a?{whose}.{rest}") is not None
    whose = one.partition("?")[2].partition(".")[0]
    assert uris.read(f"git-blob:/a?{whose}.{rest}") is None
    assert uris.read(one.replace("0123", "1123", 1)) is None


def test_what_a_file_is_is_told_by_its_name_or_by_its_lines() -> None:
    assert content_type_of("a.html", is_text=False) == "text/html"
    assert content_type_of("a", is_text=True) == "text/plain"
    assert content_type_of("a", is_text=False) == "application/octet-stream"
    assert content_type_of("a.tar.gz", is_text=False) == "application/octet-stream"
