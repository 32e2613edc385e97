"""A daemon keeps a few sessions for clients with settings of their own, and lets the others go."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from shiyi.core.errors import HomeError
from shiyi.core.settings import Settings
from shiyi.indexer.embeddings import passage_key
from shiyi.indexer.fold import to_simplified
from shiyi.indexer.generation import open_current, scope_directory
from shiyi.models.hashing import HashingEncoder
from shiyi.retrieval.results import SearchResult
from shiyi.service.daemon.host import Call, Host
from shiyi.service.daemon.sessions import MOST_MODELS, MOST_SESSIONS, Sessions
from shiyi.service.session import Session

HASHING = Settings(model="hashing")


def variants(count: int) -> list[Settings]:
    """Return settings that differ in what no model knows of."""
    return [replace(HASHING, stale_days=1 + n) for n in range(count)]


def prompted(number: int) -> Settings:
    """Return settings with a model of their own."""
    return replace(HASHING, query_prompt=f"{number}: ")


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Session]:
    with Session(tmp_path / "home", settings=Settings(model="none"), create=True) as one:
        _ = one.store
        yield one


def used(sessions: Sessions, settings: Settings) -> Session:
    with sessions.using(settings) as one:
        return one


def is_open(session: Session) -> bool:
    try:
        return bool(session.store)
    except HomeError:
        return False


def test_the_one_used_least_lately_goes(own: Session) -> None:
    """Never that of the daemon's own settings, nor one that is in use."""
    sessions, many = Sessions(own), variants(MOST_SESSIONS + 2)
    kept = {one: used(sessions, one) for one in many[:MOST_SESSIONS]}
    with sessions.using(many[1]) as held:
        assert used(sessions, many[0]) is kept[many[0]]  # now it is the newest
        used(sessions, many[-1])
        used(sessions, many[-2])
        assert held is kept[many[1]]
        assert is_open(held)

    assert [one for one in kept if not is_open(kept[one])] == many[2:4]
    assert used(sessions, many[2]) is not kept[many[2]]
    assert used(sessions, own.settings) is own
    assert is_open(own)


def test_what_has_the_same_model_shares_it_whoever_goes(own: Session) -> None:
    """The first to ask with a model may go before the last."""
    sessions, many = Sessions(own), variants(MOST_SESSIONS + 1)
    first = used(sessions, many[0])
    loader, indexes = first.loader, first.indexes
    for one in many[1:]:
        used(sessions, one)
    last = used(sessions, many[-1])

    assert not is_open(first)
    assert last.loader is loader
    assert last.indexes is indexes


def test_so_many_models_are_in_memory(own: Session) -> None:
    """With its last session a model goes; what is in use stays, and is not counted out."""
    sessions = Sessions(own)
    loaders = [used(sessions, prompted(n)).loader for n in range(MOST_MODELS - 1)]
    assert used(sessions, prompted(0)).loader is loaders[0]
    used(sessions, prompted(9))  # the second goes

    assert used(sessions, prompted(0)).loader is loaders[0]
    assert used(sessions, prompted(2)).loader is loaders[2]
    assert used(sessions, prompted(1)).loader is not loaders[1]


def test_two_names_of_one_model_share_its_vectors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is embedded under either is found under both, and is what the model made of it."""
    monkeypatch.setattr(Session, "load_encoder", lambda _: HashingEncoder())
    texts = {"a": "屋頂漏水請了師傅", "b": "今天下雨", "c": "貓咪打翻了水杯", "d": "护照在抽屉里"}
    with Host(Session(tmp_path / "home", settings=HASHING, create=True)) as host:
        for number, (scope, text) in enumerate(texts.items()):
            one = prompted(number % 2)
            kept = {"text": text, "words_only": True}
            host.do_now(Call(operation="remember", values=kept, scope=scope, settings=one))
            for asked in (one, prompted(2)):
                looked = Call(
                    operation="search", values={"text": text}, scope=scope, settings=asked, wait=30
                )
                host.do_now(looked)
        model = host.session.indexes.model()
        passages = [to_simplified(text) for text in texts.values()]
        vectors, found = model.embeddings.get([passage_key(passage) for passage in passages])

    assert found.all()
    assert (vectors == model.encoder.embed_passages(passages).vectors).all()


def test_a_calibration_holds_from_the_moment_it_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A daemon has the model and its indexes in memory; the next reindex uses the new constants."""
    monkeypatch.setenv("SHIYI_CACHE", str(tmp_path / "cache"))
    for name in ("passages", "queries"):
        lines = [f"第{n}段{name}的文字 and some words {n}" for n in range(60)]
        (tmp_path / name).write_text("\n".join(lines), "utf-8")
    with Host(Session(tmp_path / "home", settings=HASHING, create=True)) as host:
        host.do_now(Call(operation="remember", values={"text": "今天下雨"}))
        host.do_now(Call(operation="reindex", values={}, wait=30))
        before = host.session.indexes.model().calibration.digest
        files = {name: str(tmp_path / name) for name in ("passages", "queries")}
        host.do_now(Call(operation="calibrate", values=files, wait=30))
        found = host.do_now(Call(operation="search", values={"text": "下雨"}, wait=30))
        host.do_now(Call(operation="reindex", values={}, wait=30))
        after = host.session.indexes.model().calibration.digest
        scope = host.session.store.scopes()[0]
        built = open_current(scope_directory(host.session.home, scope))

    assert isinstance(found, SearchResult)
    assert len(found.hits) == 1
    assert built is not None
    assert before != after == built.manifest.calibration


def test_clients_of_many_kinds_are_all_answered(tmp_path: Path) -> None:
    """More models and settings than are kept, in turn and again: no refusal, the same answers."""
    with Host(Session(tmp_path / "home", model="none", create=True)) as host:
        host.do_now(Call(operation="remember", values={"text": "花生過敏"}))
        for _ in range(2):
            for one in [*map(prompted, range(MOST_MODELS + 2)), *variants(MOST_SESSIONS + 2)]:
                asked = Call(operation="search", values={"text": "花生"}, settings=one, wait=30)
                found = host.do_now(asked)
                assert isinstance(found, SearchResult)
                assert (found.mode, len(found.hits)) == ("hybrid", 1)
