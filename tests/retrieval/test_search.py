"""Search: hits with their reasons, whole, in order, inside the budget."""

import shutil
from collections.abc import Callable
from dataclasses import asdict
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shiyi.core.errors import ModelUnavailableError, UsageError
from shiyi.core.ids import derived_id
from shiyi.indexer.analyze import terms
from shiyi.indexer.fold import fold
from shiyi.models.encoder import Encoder
from shiyi.models.hashing import HashingEncoder
from shiyi.models.tokens import get_counter
from tests.conftest import Memory
from tests.examples import few

PIECES = ["今天", "下雨", "計程車", "王小明", "coffee", "walking", "RTX4090", "，", "。", "\n",
          "0912-345-678", "👨‍👩‍👧", '"', "\\", "e\u0301", "\u200b", "𠮷"]  # fmt: skip
TEXT = st.lists(st.sampled_from(PIECES), min_size=1, max_size=30).map("".join)
ASKED = TEXT.filter(lambda text: bool(terms(text)))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with long and short texts, records that quote, a dialogue, odd characters."""
    memory = Memory(tmp_path_factory.mktemp("made") / "home", HashingEncoder)
    for n in range(24):
        text = "".join(PIECES[(n * k) % len(PIECES)] for k in range(1, 2 + n * 4)) + f"第{n}次。"
        memory.capture(f"c{n}", text * (1 + 40 * (n % 5 == 0)), session_id="s", speaker=f"人{n}",
                       **({"previous": f"c{n - 1}"} if n else {}))  # fmt: skip
        if n % 2:
            memory.record(
                f"r{n}", f"{text[:60]}的記錄", detail=text, title=f"標題{n}" * n, topics=("雨",) * n
            )
            memory.quote(derived_id("me", f"r{n}"), derived_id("me", f"c{n}"), 0, len(text))
        if n == 12:
            memory.indexes.reindex("me")
    memory.close()
    return memory.home


@pytest.fixture
def archive(
    made: Path, tmp_path: Path, make_memory: Callable[..., Memory], hashing: Callable[[], Encoder]
) -> Memory:
    """The same each time."""
    return make_memory(hashing, shutil.copytree(made, tmp_path / "archive"))


@settings(max_examples=few(12), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    text=ASKED, budget=st.integers(200, 8000), more=st.integers(0, 4000), limit=st.integers(1, 30)
)
def test_an_answer_fits_its_budget(
    archive: Any, text: str, budget: int, more: int, limit: int
) -> None:
    """Used is at most said, said at most allowed; the same again; a larger budget only adds."""
    found = archive.search(text, budget=budget, limit=limit)
    assert get_counter().count(found.model_dump_json()) <= found.tokens <= budget
    assert archive.search(text, budget=budget, limit=limit) == found

    larger = archive.search(text, budget=budget + more, limit=limit)
    assert larger.hits[: len(found.hits)] == found.hits
    everything = archive.search(text, budget=1_000_000, limit=limit)
    assert found.truncated.omitted == len(everything.hits) - len(found.hits)
    assert len(everything.hits) <= limit


@settings(max_examples=few(12), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=ASKED)
def test_a_hit_shows_what_is_stored(archive: Any, text: str) -> None:
    """A snippet is the stored text at its offsets, and its matches are terms of the query."""
    wanted = set(terms(text))
    for hit in archive.search(text, limit=30, weak=True).hits:
        if hit.type == "capture":
            whole = archive.store.capture("me", hit.id).text
            start, end = map(int, hit.path.rpartition("#")[2].split("-"))
            assert start <= hit.snippet.start <= hit.snippet.end <= end <= len(whole)
        else:
            whole = getattr(archive.store.versions("me", hit.id)[-1], hit.snippet.of)
        assert whole[hit.snippet.start : hit.snippet.end] == hit.snippet.text
        for start, end in hit.snippet.matches:
            assert hit.snippet.start <= start < end <= hit.snippet.end
            assert set(terms(whole[start:end])) & wanted or fold(whole[start:end]) in fold(text)
        assert set(hit.why.terms) <= wanted


@settings(max_examples=few(12), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=ASKED)
def test_hits_are_ranked_by_the_sum_of_their_parts(archive: Any, text: str) -> None:
    """Ranks count from one, scores do not rise, each is what its parts add up to."""
    hits = archive.search(text, limit=50, weak=True).hits

    assert [hit.rank for hit in hits] == list(range(1, len(hits) + 1))
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    for hit in hits:
        assert hit.score == pytest.approx(sum(asdict(hit.parts).values()), abs=1e-6)
    assert len({hit.id for hit in hits}) == len(hits)


def test_one_memory_is_one_hit(memory: Any) -> None:
    """A record and the words that it quotes are shown once, each named by the other."""
    kept = memory.say("昨天和王小明去喝咖啡。")
    for _ in range(2):
        hits = memory.search("咖啡").hits
        assert len(hits) == 1
        assert {hits[0].id, *hits[0].also} == {kept["capture_id"], kept["record_id"]}
        memory.indexes.reindex("me")


def test_a_long_text_that_is_quoted_whole_is_named_once(memory: Any) -> None:
    """A statement of its own and the text that it rests on are two hits; the text comes once."""
    text = "今天去喝咖啡，聊了很久。" * 100
    kept = memory.say(text, gist="聊了咖啡")
    hits = memory.search("咖啡").hits

    assert sorted(hit.id for hit in hits) == sorted([kept["capture_id"], kept["record_id"]])


def test_a_passage_beyond_the_quote_is_a_hit_of_its_own(memory: Any) -> None:
    """A record that quotes one sentence of a long text does not hide the rest of it."""
    capture = memory.capture("c", "我們說起爬山。" * 80 + "最後去喝咖啡。")
    record = memory.record("r", "他們去爬山了，也喝咖啡。")
    memory.quote(record, capture, 0, 7)

    assert {hit.id for hit in memory.search("爬山 咖啡").hits} == {capture, record}


def test_a_long_text_does_not_take_all_the_places(memory: Any) -> None:
    """However many of its fragments match, one text is one hit and leaves room for others."""
    memory.capture("long", "咖啡加奶。" * 9000)
    others = memory.captures({f"c{n}": f"第{n}次喝咖啡的時候說了很多別的事情。" for n in range(7)})
    hits = memory.search("咖啡").hits

    assert len(hits) == 8
    assert {hit.id for hit in hits} == {*others, derived_id("me", "long")}


@pytest.mark.parametrize("reindex", [False, True])
def test_an_id_finds_exactly_what_it_names(archive: Any, reindex: bool) -> None:
    """The id of a record or of a capture, long or short, is answered with that alone."""
    if reindex:
        archive.indexes.reindex("me")
    for name in ("c0", "c3", "r3", "c20", "r23"):
        id_ = derived_id("me", name)
        for text in (id_, f"  {id_}\n"):
            found = archive.search(text)
            assert [hit.id for hit in found.hits] == [id_]
            assert found.hits[0].parts.exact == 1.0


def test_an_id_that_is_nobodys_is_a_word(memory: Any) -> None:
    """An unknown id is looked for in the texts."""
    unknown = derived_id("me", "nothing")
    memory.capture("c", "今天喝咖啡")
    assert memory.search(unknown).hits == []
    mentions = memory.capture("m", f"參見{unknown}。")
    assert memory.search(unknown).hits[0].id == mentions


def test_an_identifier_wins_in_any_spelling(memory: Any) -> None:
    """The one text with the number comes first, though others share more words."""
    memory.captures({f"c{n}": f"我的電話號碼是多少？第{n}次問了。" for n in range(9)})
    right = memory.capture("right", "記下來：0912-345-678。")
    for query in (
        "我的電話號碼是 0912 345 678 嗎",
        "０９１２３４５６７８",
        "+886 912 345 678",
        "0912345678",
    ):
        first = memory.search(query).hits[0]
        assert (first.id, first.parts.exact) == (right, 1.0)


def test_either_script_finds_either(memory: Any) -> None:
    """Traditional finds Simplified, Simplified finds Traditional, wording included."""
    one = memory.capture("one", "昨天坐計程車去看軟體展。")
    two = memory.capture("two", "他在电话里说起头发的颜色。")
    lexical = {"channels": frozenset({"lexical"})}

    assert memory.search("出租车 软件", **lexical).hits[0].id == one
    assert memory.search("電話 頭髮", **lexical).hits[0].id == two


def test_ties_go_to_self_then_to_the_newer_then_by_id(memory: Any) -> None:
    """Equal scores have one order: the self layer, later dates, no date last, then the id."""
    dates: dict[str, dict[str, Any]] = {
        "core_old": {"date_start": date(2020, 1, 1)},
        "core_new": {"date_start": date(2026, 1, 1)},
        "core_undated": {},
        "self_old": {"date_start": date(2019, 1, 1), "layer": "self"},
        "core_new_too": {"date_start": date(2025, 1, 1), "date_end": date(2026, 1, 1)},
    }
    ids = {n: memory.record(n, "下雨", title="雨", **given) for n, given in dates.items()}
    hits = memory.search("下雨", channels=frozenset({"lexical"})).hits

    assert len({hit.score for hit in hits}) == 1
    twins = sorted([ids["core_new"], ids["core_new_too"]])
    expected = [ids["self_old"], *twins, ids["core_old"], ids["core_undated"]]
    assert [hit.id for hit in hits] == expected


@pytest.mark.parametrize(
    "text", ["", " ", "\n\t　", "。", "！？…", "\u200b", "()[]{}", "—— ·", "\x00"]
)
def test_a_query_of_nothing_is_refused(memory: Any, text: str) -> None:
    """Blank, punctuation-only and invisible queries are told what to do."""
    with pytest.raises(UsageError, match="holds no word, number or sign"):
        memory.search(text)


@pytest.mark.parametrize(
    "text", ["☕", "👨‍👩‍👧", "❤️", "𠮷", "７", "\ud800咖啡", "a\x00b", "ㅋㅋ", "я"]
)
def test_a_query_of_little_is_answered(memory: Any, text: str) -> None:
    """One emoji, one letter or half a character is a query like any other."""
    memory.capture("c", "喝☕，一家👨‍👩‍👧，❤，𠮷野家，7點，咖啡，a，b，ㅋㅋ，я")
    assert memory.search(text).outcome == "found"


def test_a_query_has_a_length(memory: Any) -> None:
    """Four thousand characters are read; one more is refused, with the number."""
    memory.capture("c", "咖啡" * 1000)
    assert memory.search("咖啡" * 2000).outcome == "found"
    with pytest.raises(UsageError, match="4001 characters; give at most 4000"):
        memory.search("咖啡" * 2000 + "。")


@pytest.mark.parametrize("limit", [-1, 0, 101])
def test_a_limit_has_bounds(memory: Any, limit: int) -> None:
    """One to a hundred hits may be asked for."""
    with pytest.raises(UsageError, match="give 1 to 100"):
        memory.search("咖啡", limit=limit)
    with pytest.raises(UsageError, match="give at least 200"):
        memory.search("咖啡", budget=199)


def test_the_limit_is_kept(memory: Any) -> None:
    """As many hits as asked for, if there are as many."""
    memory.captures({f"c{n}": f"第{n}杯咖啡" for n in range(120)})
    for limit in (1, 8, 100):
        assert len(memory.search("咖啡", limit=limit).hits) == limit


def test_nothing_fits_the_smallest_budget_too(memory: Any) -> None:
    """An answer of no hits, with a query of a thousand words, costs at most 200 tokens."""
    memory.capture("c", "咖啡")
    long = " ".join(f"word{n}" for n in range(500))
    found = memory.search(long, budget=200, channels=frozenset({"lexical"}))

    assert (found.outcome, found.hits) == ("empty", [])
    assert get_counter().count(found.model_dump_json()) <= found.tokens <= 200


def test_a_huge_title_does_not_hide_the_answer(memory: Any) -> None:
    """What surrounds a snippet is shortened, so that a hit fits ordinary budgets."""
    memory.record(
        "r", "喝咖啡", title="咖啡" * 1500, topics=tuple(f"題{n}" * 99 for n in range(99))
    )
    assert len(memory.search("咖啡", budget=4000).hits) == 1


def test_an_encoder_that_fails_leaves_the_words(make_memory: Any) -> None:
    """A model that breaks at its first use costs the answer its vectors, and no more."""

    class Broken(HashingEncoder):
        def encode_passages(self, _: Any) -> Any:
            raise ModelUnavailableError("The weights are broken.")

    def load() -> Encoder:
        return Broken()

    memory = make_memory(load)
    memory.capture("c", "咖啡")
    found = memory.search("咖啡")
    assert (found.mode, len(found.hits)) == ("keyword", 1)
    assert found.notes == ["Keywords only: The weights are broken."]


def test_a_dialogue_lends_to_its_turns(memory: Any) -> None:
    """A reply that shares no word is found through the turn that it answers."""
    memory.capture("c0", "咖啡好喝嗎？")
    memory.capture("c1", "還行吧。", previous="c0")
    memory.capture("c2", "還行吧。")
    by_words = memory.search("咖啡", channels=frozenset({"lexical"})).hits
    assert [hit.id for hit in by_words] == [derived_id("me", "c0")]

    hits = {hit.id: hit for hit in memory.search("咖啡好喝", weak=True).hits}
    lent = {
        name: hits[derived_id("me", name)].parts.neighbour
        for name in ("c1", "c2")
        if derived_id("me", name) in hits
    }
    assert lent["c1"] > lent.get("c2", 0.0) == 0.0


def test_dates_and_places_are_told(memory: Any) -> None:
    """A hit names its day, its version, who spoke and where it is to be read."""
    said = datetime(2026, 2, 3, 4, 5, tzinfo=UTC)
    capture = memory.capture("c", "喝咖啡", captured_at=said, speaker="王小明", external_id="x-1")
    hit = memory.search("咖啡").hits[0]

    assert (hit.date_start, hit.speaker, hit.external_id) == ("2026-02-03", "王小明", "x-1")
    assert (hit.path, hit.modified) == (f"me/captures/{capture}#0-3", said.isoformat())
    assert (hit.kind, hit.layer, hit.title, hit.fidelity) == (None, None, None, "verbatim")


def test_indexing_changes_no_stored_text(memory: Any) -> None:
    """Only the index is folded: what was said is read back as it was said."""
    text = "後來ＡＢＣ①㎡ﬁ\u200b㊗️e\u0301，計程車。\x00 İß"
    kept = memory.say(text)
    memory.search("後來")
    memory.indexes.reindex("me")

    assert memory.store.capture("me", kept["capture_id"]).text == text
    assert memory.store.versions("me", kept["record_id"])[-1].gist == text
    assert memory.search("后来 abc").hits[0].snippet.text == text
