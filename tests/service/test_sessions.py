"""A daemon keeps a few sessions for clients with settings of their own, and lets the others go."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from shiyi.core.errors import HomeError
from shiyi.core.settings import Settings
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
