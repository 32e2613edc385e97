"""Packing by value: within the budget, deterministic, monotone, whole, counted, resumable."""

import json
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiyi.core.errors import UsageError
from shiyi.models.tokens import get_counter
from shiyi.retrieval.packing import (
    Format,
    Frame,
    Item,
    Order,
    Packed,
    Section,
    compact,
    notes_section,
    pack_sections,
)

TEXT = st.text(st.sampled_from("今天coffee 𠮷👨‍👩‍👧\"\\'/\n\x00ﷺé…。-#12"), max_size=60)
DRAFT = st.tuples(st.floats(0, 10), st.lists(TEXT, min_size=1, max_size=4))
DRAFTS = st.lists(st.lists(DRAFT, max_size=12), min_size=1, max_size=4)
BUDGET = st.one_of(st.integers(200, 500), st.integers(200, 4000))
COUNTER = st.sampled_from(["o200k", "cl100k", "bytes"])
FORMAT = st.sampled_from(["json", "markdown"])
ORDER = st.sampled_from(["value", "top"])
Drafts = list[list[tuple[float, list[str]]]]


def sections_of(drafts: Drafts, format_: Format) -> list[Section]:
    """Sections whose items grow from form to form, and a section of notes."""
    made = [notes_section(["a note " * 20, "短"], format_)]
    for s, draft in enumerate(drafts):
        items = []
        for i, (value, parts) in enumerate(draft):
            texts = ["".join(parts[: n + 1]) for n in range(len(parts))]
            forms = tuple(
                compact({"id": f"s{s}i{i}", "t": text})
                if format_ == "json"
                else f"- s{s}i{i} {' '.join(text.split())}"
                for text in texts
            )
            items.append(Item(f"s{s}i{i}", value, forms))
        made.append(Section(f"part{s}", tuple(items), weight=1 / (s + 1)))
    return made


def frame(format_: Format, request: str = "one") -> Frame:
    return Frame(format=format_, fields={"outcome": "found", "trace": None}, request=request)


def pack(
    drafts: Drafts,
    budget: int,
    counter: str,
    format_: Format,
    order: Order,
    resume: str | None = None,
) -> Packed:
    return pack_sections(
        sections_of(drafts, format_), budget, get_counter(counter), frame(format_),
        order=order, resume=resume,
    )  # fmt: skip


def forms(packed: Packed) -> dict[tuple[str, str], int]:
    return {(one.section, one.id): one.form for one in packed.shown}


@given(DRAFTS, BUDGET, COUNTER, FORMAT, ORDER)
def test_never_over_budget(
    drafts: Drafts, budget: int, counter: str, format_: Format, order: Order
) -> None:
    """What the text costs is what is said, and at most the budget; twice the same."""
    budget += 200 * (counter == "bytes")
    packed = pack(drafts, budget, counter, format_, order)

    assert get_counter(counter).count(packed.text) == packed.tokens <= budget
    assert pack(drafts, budget, counter, format_, order) == packed


@given(DRAFTS, BUDGET, st.integers(0, 600), COUNTER, FORMAT, ORDER)
def test_a_larger_budget_only_adds(
    drafts: Drafts, budget: int, more: int, counter: str, format_: Format, order: Order
) -> None:
    """Every item stays, in a form that is never smaller."""
    budget += 200 * (counter == "bytes")
    small = forms(pack(drafts, budget, counter, format_, order))
    large = forms(pack(drafts, budget + more, counter, format_, order))

    assert all(large.get(name, -1) >= form for name, form in small.items())


@given(DRAFTS, BUDGET, FORMAT)
def test_items_are_whole_and_counted(drafts: Drafts, budget: int, format_: Format) -> None:
    """A form stands as it was given, in the order given, and what is missing is counted."""
    sections = sections_of(drafts, format_)
    packed = pack(drafts, budget, "o200k", format_, "value")
    shown = forms(packed)

    expected = {
        section.name: [
            item.forms[shown[section.name, item.id]]
            for item in section.items
            if (section.name, item.id) in shown
        ]
        for section in sections
    }
    if format_ == "json":
        answer = json.loads(packed.text)
        for name, blocks in expected.items():
            assert answer.get(name, []) == [json.loads(block) for block in blocks]
        assert answer["tokens"] == packed.tokens
        assert answer["truncated"] == packed.truncated.model_dump()
        assert "trace" not in answer
    else:
        for name, blocks in expected.items():
            block = "".join(f"{line}\n" for line in (f"## {name}", *blocks))
            assert (block in packed.text) == bool(blocks)
    for section in sections:
        count = len(expected[section.name])
        assert packed.truncated.omitted.get(section.name, 0) == len(section.items) - count
    smaller = Counter(
        section.name
        for section in sections
        for item in section.items
        if (form := shown.get((section.name, item.id))) is not None
        and item.forms[form] != item.forms[-1]
    )
    assert packed.truncated.stepped_down == smaller


@given(DRAFTS, st.lists(st.integers(230, 900), min_size=1, max_size=4), FORMAT)
def test_the_cursor_goes_on_exactly_there(
    drafts: Drafts, budgets: list[int], format_: Format
) -> None:
    """Pages, each with a budget of its own, show every item once."""
    pages = [pack(drafts, budgets[0], "o200k", format_, "value")]
    while (cursor := pages[-1].truncated.resume) is not None:
        budget = budgets[len(pages) % len(budgets)]
        pages.append(pack(drafts, budget, "o200k", format_, "value", resume=cursor))
    shown = [name for page in pages for name in forms(page)]
    everything = [
        (section.name, item.id) for section in sections_of(drafts, format_)
        for item in section.items
    ]  # fmt: skip

    assert len(shown) == len(set(shown))
    assert set(shown) == set(everything)
    left = sum(pages[0].truncated.omitted.values())
    assert left == sum(len(page.shown) for page in pages[1:])


def test_a_cursor_that_cannot_go_on_says_so() -> None:
    """Where what comes next is too large for the budget, nobody is sent round in a circle."""
    drafts: Drafts = [[(1.0, ["今天 " * 400])] * 2]
    sections = sections_of(drafts, "json")
    cursor = pack_sections(sections, 250, get_counter(), frame("json")).truncated.resume

    with pytest.raises(UsageError, match="does not fit the budget; give a larger one"):
        pack_sections(sections, 250, get_counter(), frame("json"), resume=cursor)

    assert (
        len(pack_sections(sections, 2500, get_counter(), frame("json"), resume=cursor).shown) == 2
    )


def test_a_cursor_of_another_request_is_refused() -> None:
    """Neither another question, another format, another content nor plain nonsense."""
    drafts: Drafts = [[(1.0, ["x" * 200])] * 30]
    counter = get_counter()
    sections = sections_of(drafts, "json")
    cursor = pack_sections(sections, 300, counter, frame("json")).truncated.resume
    assert cursor is not None
    fewer = sections_of([drafts[0][:29]], "json")
    other = [
        (sections, frame("json", "two"), cursor),
        (fewer, frame("json"), cursor),
        (sections_of(drafts, "markdown"), frame("markdown"), cursor),
        *(
            (sections, frame("json"), text)
            for text in ("", "x", cursor[:-2], cursor[:12] + "999", "９" * 14, "1" * 30)
        ),
    ]
    for shown, around, text in other:
        with pytest.raises(UsageError, match="another request"):
            pack_sections(shown, 300, counter, around, resume=text)


def test_what_does_not_fit_steps_down() -> None:
    """An item too large for the budget is shown in the largest form that fits."""
    items = (Item("a", 1.0, ('"a"', '"aa"', '"aaa"', compact("一" * 5000))),)
    packed = pack_sections([Section("records", items)], 200, get_counter(), frame("json"))

    assert json.loads(packed.text)["records"] == ["aaa"]
    assert packed.truncated.stepped_down == {"records": 1}
    assert packed.truncated.resume is None


def test_a_budget_below_the_least_is_refused() -> None:
    """One sentence that says what to give."""
    with pytest.raises(UsageError, match="at least 200"):
        pack_sections([], 199, get_counter(), frame("json"))
    wide = Frame(format="json", fields={"query": "今天 " * 400})
    with pytest.raises(UsageError, match="give at least that"):
        pack_sections([], 200, get_counter(), wide)


def test_counting_is_linear() -> None:
    """Each form is counted a bounded number of times, whatever the number of items."""

    class Watching:
        name = "o200k"

        def __init__(self) -> None:
            self.characters = 0

        def count(self, text: str) -> int:
            """Count, and note how much was counted."""
            self.characters += len(text)
            return get_counter().count(text)

    counted = []
    for size in (100, 1000):
        counter = Watching()
        items = tuple(
            Item(str(n), 1.0, tuple(compact("x" * k) for k in (1, 20, 40))) for n in range(size)
        )
        pack_sections([Section("records", items)], 100_000, counter, frame("json"))
        counted.append(counter.characters / size)
    assert counted[1] < counted[0] * 1.1
