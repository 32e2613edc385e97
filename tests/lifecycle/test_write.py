"""Remember and edit: one transaction, one statement, and no version without a change."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import shiyi
from shiyi.core.errors import ConflictError, NotFoundError, UsageError
from shiyi.lifecycle.write import title_of


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("我對花生過敏，別點宮保雞丁。", "我對花生過敏"),
        ("  第一行\n第二行", "第一行"),
        ("No commas here. Second sentence.", "No commas here"),
        ("version 2.31.0 is out", "version 2.31.0 is out"),
        ("……", "……"),
        ("長" * 50, "長" * 39 + "…"),
    ],
)
def test_title_is_the_first_clause(text: str, title: str) -> None:
    """A record that is given no title takes one from the words."""
    assert title_of(text) == title


@given(st.text(min_size=1).filter(lambda text: bool(text.strip())))
def test_title_is_never_blank_or_long(text: str) -> None:
    """Whatever the words are, something visible names them."""
    assert 1 <= len(title_of(text)) <= 40
    assert title_of(text).strip()


def test_words_and_record_are_one_write(me: shiyi.Scope) -> None:
    """The record quotes all of the words, and both are there or neither."""
    kept = me.remember("我搬到台中了", date="2021-03", topics=["家"])
    assert kept.record_id is not None

    shown = me.show(kept.record_id)

    assert shown.record is not None
    assert (shown.record.kind, shown.record.layer, shown.record.version) == ("fact", "core", 1)
    assert (shown.record.date_start, shown.record.date_end) == ("2021-03-01", "2021-03-31")
    assert shown.record.date_precision == "month"
    assert (shown.links[0].rel, shown.links[0].dst) == ("quotes", kept.capture_id)
    assert (shown.links[0].start, shown.links[0].end) == (0, 6)


def test_a_refused_record_keeps_no_words(me: shiyi.Scope, memory: shiyi.Memory) -> None:
    """What is wrong with the statement is said before anything is kept."""
    with pytest.raises(UsageError):
        me.remember("甲", date="2021-02-30")
    with pytest.raises(UsageError):
        me.remember("甲", detail="長" * 3000)
    assert memory.status().last_change == 0


def test_long_words_need_a_gist(me: shiyi.Scope) -> None:
    """More than a statement holds is kept as words; with a gist there is a record as well."""
    long = "今天的會議紀錄。" * 1000

    assert me.remember(long).record_id is None
    with_gist = me.remember(long, gist="八點開會")
    assert with_gist.record_id is not None


def test_session_follows_its_newest_words(me: shiyi.Scope) -> None:
    """Turns of one session follow one another; other sessions do not mix in."""
    ids = [me.remember(f"{n}", session=s).capture_id for n, s in enumerate("aabab")]

    previous = [me.show(id_).capture.previous for id_ in ids]  # type: ignore[union-attr]

    assert previous == [None, ids[0], None, ids[1], ids[2]]


def test_edit_checks_the_etag(me: shiyi.Scope) -> None:
    """Who edits what somebody else has changed meanwhile is told, and nothing is lost."""
    id_ = me.remember("甲").record_id
    assert id_ is not None
    first = me.show(id_).record
    assert first is not None
    me.edit(id_, title="乙", if_match=first.etag)

    with pytest.raises(ConflictError):
        me.edit(id_, title="丙", if_match=first.etag)
    with pytest.raises(NotFoundError):
        me.edit("nobody", title="丙")
    newest = me.show(id_).record
    assert newest is not None
    assert newest.title == "乙"


def test_a_made_title_follows_the_gist(me: shiyi.Scope) -> None:
    """A title that came from the gist is made anew with it; one that was given stays."""
    made, given = me.remember("甲，一").record_id, me.remember("甲，一", title="題").record_id
    assert made is not None
    assert given is not None

    me.edit(made, gist="乙，二")
    me.edit(given, gist="乙，二")

    titles = [me.show(one).record.title for one in (made, given)]  # type: ignore[union-attr]
    assert titles == ["乙", "題"]


def test_edit_back_is_a_version_too(me: shiyi.Scope) -> None:
    """A change and its undoing are two versions; only the newest has to differ."""
    id_ = me.remember("甲").record_id
    assert id_ is not None

    results = [me.edit(id_, phase=phase) for phase in ("a", "b", "a", "a")]

    assert [(one.version, one.changed) for one in results] == [
        (2, True), (3, True), (4, True), (4, False),
    ]  # fmt: skip


def test_key_gives_the_first_result(me: shiyi.Scope, memory: shiyi.Memory) -> None:
    """A repeated call with a key does nothing and answers the same; scopes have keys apart."""
    first = me.remember("甲", key="k")

    assert me.remember("甲", key="k") == first
    assert memory.scope("other").remember("甲", key="k").capture_id != first.capture_id
    with pytest.raises(ConflictError):
        me.remember("乙", key="k")
