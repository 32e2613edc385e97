"""The part of a text that shows why it was found."""

import time

from hypothesis import given
from hypothesis import strategies as st

from shiyi.indexer.analyze import locate, terms
from shiyi.indexer.fold import fold
from shiyi.retrieval.snippet import LENGTH, make_snippet

PIECES = st.sampled_from(
    ["今天", "下雨", "計程車", "王小明", "coffee", "walking", "RTX4090", "，", "。", "\n", " ",
     "0912-345-678", "ﬁ", "e\u0301", "\u200b", "👨‍👩‍👧", "㎡",
     "其他的話說了很多", "something else entirely "]
)  # fmt: skip
TEXT = st.lists(PIECES, max_size=120).map("".join)
QUERY = st.lists(PIECES, max_size=4).map("".join)


def _shared(text: str, query: str) -> set[str]:
    return {term.text for term in locate(fold(text))} & set(terms(query))


@given(TEXT, QUERY, st.integers(0, 1000))
def test_a_snippet_is_a_piece_of_the_text(text: str, query: str, offset: int) -> None:
    """It is cut from the original at the offsets it names, and is short."""
    made = make_snippet(text, set(terms(query)), offset)

    assert made.text == text[made.start - offset : made.end - offset]
    assert len(made.text) <= LENGTH
    assert 0 <= made.start - offset <= made.end - offset <= len(text)
    assert made.text or not text


@given(TEXT, QUERY)
def test_matches_stand_inside_and_match(text: str, query: str) -> None:
    """Each match lies in the snippet, apart from the others, and holds a term of the query."""
    wanted = _shared(text, query)
    made = make_snippet(text, wanted)

    assert made.matches == sorted(made.matches)
    for (_, end), (start, _) in zip(made.matches, made.matches[1:], strict=False):
        assert end < start
    for start, end in made.matches:
        assert made.start <= start < end <= made.end
        inside = fold(text[start:end])
        whole = {(t.text, fold(text)[t.start : t.end]) for t in locate(fold(text))}
        assert any(term in wanted and form in inside for term, form in whole)


@given(TEXT, QUERY)
def test_a_text_that_matches_shows_a_match(text: str, query: str) -> None:
    """Where a term of the query stands in the text, the snippet shows at least one."""
    shared = _shared(text, query)

    assert bool(make_snippet(text, shared).matches) == bool(shared)


def test_the_window_is_where_most_of_it_matches() -> None:
    """One passing word does not draw the snippet from the passage that is about the query."""
    text = (
        "今天說了很多別的話，提到咖啡。"
        + "然後又是別的。" * 40
        + "咖啡加奶，咖啡加糖，都是咖啡。"
        + "完了。" * 60
    )
    made = make_snippet(text, set(terms("咖啡")))

    assert "咖啡加奶，咖啡加糖，都是咖啡" in made.text
    assert len(made.matches) == 3


def test_a_long_match_is_shown_too() -> None:
    """A text that is matched all over has matches in its snippet."""
    text = "今天我們去爬山看見很多花" * 40
    made = make_snippet(text, set(terms(text)))

    assert made.matches
    assert sum(end - start for start, end in made.matches) > LENGTH * 0.8


def test_a_snippet_begins_with_a_clause() -> None:
    """The window opens where a clause does, when one opens shortly before the match."""
    text = "別的話。" * 60 + "我昨天買了RTX4090。" + "別的話。" * 60
    made = make_snippet(text, {"rtx4090"})

    assert made.text.startswith("我昨天")


def test_a_full_text_of_matches_is_quick() -> None:
    """Thousands of matches in one text take no noticeable time."""
    text = "咖啡 coffee " * 400
    begun = time.process_time()
    for _ in range(5):
        make_snippet(text, set(terms("咖啡 coffee")))

    assert time.process_time() - begun < 2
