"""Whose word a memory is."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from shiyi.core.ids import derived_id
from shiyi.retrieval.trust import TRUSTS, origins, weakest

SAID: dict[str, tuple[str, dict[str, Any]]] = {
    "asked": ("user", {}),
    "named": ("user", {"speaker": "梅芙"}),
    "answered": ("agent", {"speaker": "Assistant"}),
    "noted": ("imported", {"origin": "note"}),
    "chatted": ("imported", {"source_path": "conversations.json"}),
    "browsed": ("web", {"fidelity": "external_material", "speaker": "user"}),
}


def test_a_capture_is_the_word_of_its_speaker_or_its_source(memory: Any) -> None:
    """Who said it, unless it came from a file or from outside."""
    for name, (_, given_) in SAID.items():
        memory.capture(name, f"{name}: trust user", **given_)
    ids = {name: derived_id("me", name) for name in SAID}

    found = {one.id: one.trust for one in origins(memory.store, "me", list(ids.values()))}

    assert found == {ids[name]: trust for name, (trust, _) in SAID.items()}
    assert origins(memory.store, "other", list(ids.values())) == []


@pytest.mark.parametrize(
    ("gist", "quoted", "trust"),
    [
        ("貓在海邊", ["asked"], "user"),
        ("狗在山上", ["asked"], "agent"),
        ("貓在海邊", ["asked", "noted"], "imported"),
        ("狗在山上", ["noted"], "imported"),
        ("狗在山上", ["browsed", "asked"], "web"),
        ("狗在山上", [], "agent"),
    ],
)
def test_a_record_is_no_better_than_what_it_rests_on(
    gist: str, quoted: list[str], trust: str, memory: Any
) -> None:
    """Its weakest source counts; another wording, or no source at all, is an agent's."""
    record = memory.record("r", gist)
    for name in quoted:
        capture = memory.capture(name, "我說：貓在海邊。", **SAID[name][1])
        memory.quote(record, capture, 0, 4)

    (found,) = origins(memory.store, "me", [record])

    assert found.trust == trust


@given(some.lists(some.sampled_from(TRUSTS)))
def test_more_sources_never_raise_trust(trusts: list[Any]) -> None:
    """With each source the trust stays or falls."""
    levels = [TRUSTS.index(weakest(trusts[:n])) for n in range(1, len(trusts) + 1)]

    assert levels == sorted(levels)
