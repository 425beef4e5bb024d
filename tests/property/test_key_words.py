"""Whatever a key is, the words that are shown for it are read back as that key."""

from __future__ import annotations

import shlex

from hypothesis import given
from hypothesis import strategies as st

from hotshard.cli.key_words import key_of, pasteable

parts = st.text(min_size=1, max_size=8)
keys = st.one_of(
    st.binary(min_size=1, max_size=20),
    parts.map(lambda text: text.encode("utf-8", "replace")),
    st.tuples(parts, parts).map(lambda both: "\x1f".join(both).encode("utf-8", "replace")),
)


@given(key=keys)
def test_a_key_shown_for_pasting_is_read_back(key: bytes) -> None:
    words = shlex.split(pasteable(key))
    in_base64 = words[0] == "--base64"
    if in_base64 or words[0] == "--":
        words = words[1:]
    assert key_of(words, in_base64=in_base64) == key
