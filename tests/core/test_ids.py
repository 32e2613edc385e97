"""Ids and names."""

import unicodedata
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiyi.core.errors import UsageError
from shiyi.core.ids import check_id, check_scope, derived_id, is_id, new_id, resolve_id

GOOD_SCOPES = (
    "me", "工作", "A", "_", "0", "a.b@c+d:e-f", "é", "日记-2026", "Ünïcode", "हिन्दी", "ไทย",
    "x" * 64, "𠮷", "나의", "a..b",
)  # fmt: skip
BAD_SCOPES = (
    "", " ", "a b", " a", "a ", ".", "..", "../me", "a/b", "/", "a\\b", "C:\\x", "-a", "@a", "a\0",
    "\0", "a\n", "x" * 65, "x" * 300, "雨" * 65, "a\u202eb", "a\u200bb", "a\u200db", "\u3164",
    "a\ufe0f\ufe0f",    "👍", "a'b", 'a"b', "a;b", "a*", "a?b", "a%b", "~", "~me", "$x",
    "\u0301a", "a\ud800", "\ue000",
)  # fmt: skip


@pytest.mark.parametrize("name", GOOD_SCOPES)
def test_a_scope_may_be_named_in_any_script(name: str) -> None:
    """Letters of any script with their marks, digits and a few signs are a name."""
    assert check_scope(name) == unicodedata.normalize("NFC", name)


@pytest.mark.parametrize("name", BAD_SCOPES)
def test_a_scope_is_never_a_path_or_a_disguise(name: str) -> None:
    """Paths, blanks, controls and what nobody sees are refused, without being repeated."""
    with pytest.raises(UsageError, match="1 to 64 letters") as refusal:
        check_scope(name)

    assert len(name) < 3 or name not in str(refusal.value)


def test_a_scope_is_one_name_however_it_is_typed() -> None:
    """Composed and decomposed forms are the same scope."""
    assert check_scope("cafe\u0301") == check_scope("caf\u00e9") == "caf\u00e9"


@given(st.text(max_size=70))
def test_a_scope_that_is_accepted_stays_accepted(name: str) -> None:
    """The name that is returned is a name, and holds nothing that parts a path."""
    try:
        normal = check_scope(name)
    except UsageError:
        return
    assert check_scope(normal) == normal
    assert not set(normal) & set("/\\\0 \n'\"")
    assert normal[0] not in ".-~"


def test_new_ids_are_ids_and_differ() -> None:
    """Fresh ids are 26 characters and never repeat, from any thread."""
    with ThreadPoolExecutor(4) as threads:
        ids = list(threads.map(lambda _: new_id(), range(4000)))

    assert all(is_id(one) and check_id(one) == one for one in ids)
    assert len(set(ids)) == len(ids)


def test_derived_ids_are_the_same_for_ever() -> None:
    """The id of a name in a scope is fixed: these are written down, and may never change."""
    assert derived_id("me", "conversation/1") == "39PSBKYJ6V7JXKECPNVNHPVWH8"
    assert derived_id("工作", "会议\0纪要") == "0XT98CPP7KM1D9A65XXVP6B2V3"


@given(st.text(), st.text(), st.text(), st.text())
def test_derived_ids_differ_by_scope_and_by_name(a: str, b: str, c: str, d: str) -> None:
    """Two names, or one name in two scopes, have two ids; any text gives one."""
    a, c = a.replace("\0", ""), c.replace("\0", "")  # no scope holds NUL
    assert is_id(derived_id(a, b))
    assert (derived_id(a, b) == derived_id(c, d)) == ((a, b) == (c, d))


def test_a_reference_is_an_id_or_a_name() -> None:
    """An id stands for itself; anything else is the name that its source gave."""
    one = new_id()

    assert resolve_id("me", one) == one
    for name in (one.lower(), one[:25], f"{one}x", f"8{one[1:]}", "x", f"{one}\n"):
        assert resolve_id("me", name) == derived_id("me", name)


@pytest.mark.parametrize("text", ["", "x", "0" * 25, "0" * 27, "8" + "0" * 25, "O" * 26, "../" * 9])
def test_what_is_no_id_is_refused(text: str) -> None:
    """A bad id is refused, and the message does not repeat it."""
    with pytest.raises(UsageError) as refusal:
        check_id(text)

    assert len(text) < 2 or text not in str(refusal.value)
