"""Names of entities: in a question, in whatever script, and in texts."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiyi.indexer.analyze import terms
from shiyi.indexer.names import Names, names_of
from shiyi.indexer.segment import count_terms

CARDS = {
    "grandma": {"title": "阿嬤（闕林玉霞）", "aliases": ["奶奶", "Grandma"]},
    "fish": {"title": "小魚", "aliases": ["余思涵", "Yvonne"]},
    "fry": {"title": "小魚苗", "aliases": []},
    "sick": {"title": "暈3D", "aliases": ["晕3D"]},
    "other": {"title": "YVONNE", "aliases": []},
    "dad": {"title": "爸爸", "aliases": ["爸"]},
    "bus": {"title": "77 路公車", "aliases": ["77"]},
}


@pytest.fixture
def names() -> Names:
    """A few entities, one with a name that is a part of another's."""
    made = Names()
    for entity, card in CARDS.items():
        made.put(entity, card)
    return made


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("阿嬤說過年", ["grandma"]),
        ("晕3D 又来了", ["sick"]),
        ("小鱼和 GRANDMA", ["fish", "grandma"]),
        ("小魚苗長大了", ["fry"]),
        ("grandmaster chess", []),
        ("（闕林玉霞）", []),
        ("Yvonne", ["fish"]),
        ("YVONNE", ["other"]),
        ("yvonne", ["fish", "other"]),
        ("我爸說", []),
        ("🙂", []),
        ("", []),
    ],
)
def test_a_name_is_found_in_a_question(names: Names, text: str, found: list[str]) -> None:
    """Longest first, as written before folded, letters only as whole words, two characters on."""
    assert [one.entity for one in names.find(text)] == found


def test_a_name_says_where_it_stands_and_whether_as_written(names: Names) -> None:
    """Places are those of the question as it was asked."""
    one, other = names.find("ＧＲＡＮＤＭＡ和小鱼")

    assert (one.start, one.end, one.exact) == (0, 7, False)
    assert (other.start, other.end, other.exact) == (8, 10, False)
    assert names.find("和小魚")[0].exact


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("昨天奶奶来了", {"grandma"}),
        ("我晕3D，玩不了", {"sick"}),
        ("等 77 路公車", {"bus"}),
        ("門牌 77 號", set()),
        ("妹妹", set()),
    ],
)
def test_a_text_names_whom_it_speaks_of(names: Names, text: str, named: set[str]) -> None:
    """By the terms of the text alone; a bare number or character says too little."""
    assert names.named_by(count_terms(terms(text))[0]) == named


def test_an_entity_may_lose_its_names(names: Names) -> None:
    """What is an entity no more is no door."""
    names.put("fish", None)

    assert names.find("小魚") == []
    assert names.named_by(count_terms(terms("小魚"))[0]) == set()
    assert names.keys_of("fish") == []


CARD = st.none() | st.fixed_dictionaries(
    {
        "title": st.sampled_from(["小魚", "小魚（貓）", "Fish", "77", "魚"]),
        "aliases": st.lists(st.sampled_from(["魚魚", "小鱼", "fish", "fishy 2"]), max_size=2),
    }
)


@given(cards=st.lists(st.tuples(st.sampled_from("abc"), CARD), max_size=12))
def test_names_follow_their_cards(cards: list[tuple[str, dict[str, Any] | None]]) -> None:
    """After any changes they are the names of the cards as they are now."""
    living, fresh = Names(), Names()
    for entity, card in cards:
        living.put(entity, card)
    for entity, card in dict(cards).items():
        fresh.put(entity, card)

    assert list(living) == list(fresh)
    assert [living.keys_of(one) for one in "abc"] == [fresh.keys_of(one) for one in "abc"]
    for text in ("小魚和 fish 的 fishy 2", "魚魚 77 Fish"):
        keys = count_terms(terms(text))[0]
        assert living.find(text) == fresh.find(text)
        assert living.named_by(keys) == fresh.named_by(keys)


def test_the_names_of_a_card() -> None:
    """The title, the title without its brackets, and the aliases, each once."""
    card = {"title": "阿嬤（闕林玉霞）", "aliases": ["阿嬤", "奶奶", "", "嬤"]}

    assert names_of(card) == ("阿嬤（闕林玉霞）", "阿嬤", "奶奶")
