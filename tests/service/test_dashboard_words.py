"""The catalogue: no word is missing in any language, and none is there for nothing."""

import re
from importlib.resources import files
from string import Formatter

import pytest

from shiyi.retrieval.review import DEBTS
from shiyi.retrieval.trust import TRUSTS
from shiyi.service.dashboard.page import is_reference
from shiyi.service.dashboard.words import LANGUAGES, catalogue
from shiyi.service.table.operations import OPERATIONS
from shiyi.store import kinds
from shiyi.store.shapes import SHAPES
from shiyi.store.shapes.persons import ENTITY_TYPES, STATE_BLOCKS
from shiyi.store.shapes.stances import PROMISE_STATES
from shiyi.store.shapes.thoughts import FOLLOWUP_STATES, HYPOTHESIS_STATUSES

TEMPLATES = files("shiyi.service.dashboard").joinpath("templates")
SOURCES = files("shiyi.service.dashboard")
_KEY = re.compile(r"""["']([a-z_]+\.[a-z_]+)["']""")
_MADE = re.compile(
    r"""(?:t|words)\("([a-z_]+\.[a-z_]*)" ~"""
    r"""|label\(["']([a-z_]+)["'](?: if [a-z]+ else "([a-z_]+)")?"""
)
_STRANGE = re.compile("[\u4e00-\u9fff]")


def sources() -> str:
    pages = [one.read_text("utf-8") for one in TEMPLATES.iterdir()]
    code = [one.read_text("utf-8") for one in SOURCES.iterdir() if one.name.endswith(".py")]
    return "\n".join(pages + code)


def used() -> set[str]:
    keys = catalogue()["en"].texts
    groups = {key.partition(".")[0] for key in keys}
    found = {key for key in _KEY.findall(sources()) if key.partition(".")[0] in groups}
    return {key for key in found if not key.endswith((".html", ".js", "_"))}


def test_no_key_is_missing() -> None:
    """Whatever a page or the code names is there."""
    known = set(catalogue()["en"].texts)

    assert used() - known == set()


def test_no_key_is_there_for_nothing() -> None:
    """A key is named, or its group is looked up by value."""
    made = {name.partition(".")[0] for found in _MADE.findall(sources()) for name in found if name}
    made |= {"gap", "debt", "entity_type", "guess"}  # looked up in another way
    named = used()

    assert {
        key for key in catalogue()["en"].texts
        if key not in named and key.partition(".")[0] not in made
    } == set()  # fmt: skip


@pytest.mark.parametrize(
    ("group", "values"),
    [
        ("kind", kinds.KINDS),
        ("status", kinds.STATUSES),
        ("layer", kinds.LAYERS),
        ("fidelity", kinds.FIDELITIES),
        ("basis", kinds.DATE_BASES),
        ("rel", kinds.RELATIONS),
        ("rel_back", kinds.RELATIONS),
        ("block", STATE_BLOCKS),
        ("debt", tuple(DEBTS)),
        ("trust", TRUSTS),
        ("attr", tuple({name for shape in SHAPES.values() for name in shape.model_fields})),
        ("origin", kinds.ORIGINS),
        ("verdict", kinds.VERDICTS),
        ("entity_type", ENTITY_TYPES),
        ("guess", HYPOTHESIS_STATUSES),
        ("when", (*PROMISE_STATES, *FOLLOWUP_STATES)),
        ("operation", tuple(one.name for one in OPERATIONS if one.job and not one.here)),
        ("outcome", ("found", "empty", "failed", "unavailable")),
    ],
)
def test_values_of_the_store_have_names(group: str, values: tuple[str, ...]) -> None:
    """In every language."""
    for language in LANGUAGES:
        assert [one for one in values if f"{group}.{one}" not in catalogue()[language].texts] == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_languages_agree(language: str) -> None:
    """The same keys, and the same values to put in; English has no Han, Simplified is no copy."""
    english, texts = catalogue()["en"].texts, catalogue()[language].texts

    def places(text: str) -> set[str | None]:
        return {name for _, name, _, _ in Formatter().parse(text) if name is not None}

    assert list(texts) == list(english)
    assert [key for key in texts if places(texts[key]) != places(english[key])] == []
    assert [key for key in texts if not texts[key].strip()] == []
    assert [key for key in english if _STRANGE.search(english[key])] == []


def test_scripts_differ() -> None:
    """Simplified has none of the characters that only Traditional has."""
    hant, hans = (catalogue()[name].texts for name in ("zh-Hant", "zh-Hans"))
    only = set("憶們頁圍總覽記錄檢這裡尋時間軸說現從數據變應發")

    assert hant["site.name"] != hans["site.name"]
    assert [key for key, text in hans.items() if only & set(text)] == []
    assert any(only & set(text) for text in hant.values())


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("3GQXFST3AEX722EQ719YQZK6AC", True), ("3GQXFST3", True), ("phase:上海", False),
        ("javascript:alert(1)", False), ("3GQ", False), ("3GQXFST3\n", False), (None, False),
    ],
)  # fmt: skip
def test_only_ids_become_addresses(text: str | None, answer: bool) -> None:
    """Names stand in the text of a page, never in an address."""
    assert is_reference(text) is answer
