"""The one packer: what an answer shows within its budget, and the text that shows it.

How a level uses it:

    items = [Item(id, value, (id_form, line, short, full)), …]     # best or first item first
    sections = [notes_section(notes), Section("records", items), Section("beside", …, weight=0.3)]
    frame = Frame(format="json", fields={"outcome": "found", …}, request=fingerprint_of(…))
    packed = pack_sections(sections, budget, counter, frame, resume=cursor_or_none)

- A form is one block of text without its last newline: one line of compact JSON (any value, no
  comma), or Markdown lines of which each begins with a character that is neither blank nor `/`.
  Forms go from the smallest to the largest; two equal ones count as one.
- The packer writes the whole answer: fields, sections, `truncated`, counter and tokens, all of it
  inside the budget. `packed.text` is what a door prints; `packed.shown` says which form of which
  item stands in it, in the order shown; `packed.truncated` what was left out.
- Value: an item in form k is worth value · section.weight · section.gains[k]. A step from one form
  to the next is worth what it adds, per token that it costs. All steps of all items stand in one
  order that does not depend on the budget, and the longest beginning that fits is taken; the
  first step that does not fit is taken as far as a smaller form fits. So a larger budget shows the
  same items in forms as large or larger, and perhaps more.
- The cursor goes on with the items that were never shown; what was shown in a smaller form is read
  by its id. It is digits, which cost a third of a token each whatever they are.

Counting is exact because no token of o200k or cl100k crosses from a line break into such a block.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

from shiyi.core.errors import UsageError
from shiyi.models.tokens import TokenCounter
from shiyi.retrieval.layout import (
    GAINS,
    Budgeted,
    Format,
    Frame,
    Item,
    Known,
    Left,
    Section,
    between,
    closed,
    compact,
    head_of,
    opened,
    plain,
    tail_of,
)
from shiyi.retrieval.pack import MIN_BUDGET

__all__ = [
    "GAINS", "MIN_BUDGET", "Budgeted", "Format", "Frame", "Item", "Left", "Order", "Packed",
    "Section", "Shown", "compact", "fingerprint_of", "notes_section", "pack_sections",
]  # fmt: skip
Order = Literal["value", "top"]
_NOTE = 10.0  # a note is said before anything else
_NOTE_LENGTH = 60  # characters of a note that does not fit
_DIGITS = 8  # of a cursor, for the request that it belongs to
_MAX_DIGITS = 24
_UNPARTED = 2  # tokens by which the last item of a list may cost more without its comma


@dataclass(frozen=True, slots=True)
class Shown:
    """One item of an answer, and the position of its form."""

    section: str
    id: str
    form: int


@dataclass(frozen=True, slots=True)
class Packed:
    """An answer that fits."""

    text: str
    tokens: int
    counter: str
    shown: tuple[Shown, ...]
    truncated: Left

    def forms(self, section: str) -> dict[str, int]:
        """Return the form of each item shown in a section, in the order shown."""
        return {one.id: one.form for one in self.shown if one.section == section}


# An item goes from one form, or from nothing (-1), to another: (minus what it brings by token,
# section, item, form after, form before), so that the first is the best.
_Step = tuple[float, int, int, int, int]


def pack_sections(
    sections: Sequence[Section],
    budget: int,
    counter: TokenCounter,
    frame: Frame,
    *,
    resume: str | None = None,
    order: Order = "value",
) -> Packed:
    """Return the answer that shows most for at most `budget` tokens, overhead included.

    order: `top` fills from the top with the largest forms instead, to compare with.

    Raises UsageError for a budget under MIN_BUDGET or too small for the frame or for what comes
    after the cursor, and for a cursor of another request.
    """
    if budget < MIN_BUDGET:
        raise UsageError(f"The budget is {budget} tokens; give at least {MIN_BUDGET}.")
    sections = [section for section in sections if section.items]
    costs = _Costs(counter, frame.format, sections)
    steps = _by_value(sections, costs) if order == "value" else _from_the_top(sections)
    names = list(dict.fromkeys((s, i) for _, s, i, _, _ in steps))
    owner = _digest(frame.request, frame.format, counter.name, order, _listed(sections, names))
    skipped = _position(resume, owner, len(names)) if resume is not None else 0
    before = set(names[:skipped])
    room = budget - _overhead(sections, budget, counter, frame)
    if room < 0:
        raise UsageError(
            f"An answer without anything in it costs {budget - room} {counter.name}; "
            "give at least that."
        )
    if before:
        steps = [step for step in steps if step[1:3] not in before]
    forms = _fit(steps, costs, room)
    if resume is not None and not forms and skipped < len(names):
        raise UsageError(
            "What comes next does not fit the budget; give a larger one, or read it by its id."
        )
    left = _left(sections, forms, before, f"{owner}{skipped + len(forms)}{frame.mark}")
    return _written(sections, forms, left, costs, frame)


def fingerprint_of(*parts: Any) -> str:
    """Return a name for a request: the same for the same plain values."""
    return hashlib.sha256(compact(parts).encode("utf-8", "surrogatepass")).hexdigest()


def notes_section(notes: Iterable[str], format_: Format = "json") -> Section:
    """Return notes as a section that comes before all others; long ones may be cut."""
    items = []
    for place, note in enumerate(notes):
        cut = note if len(note) <= _NOTE_LENGTH else f"{note[: _NOTE_LENGTH - 1]}…"
        forms = [compact(one) if format_ == "json" else f"- {plain(one)}" for one in (cut, note)]
        items.append(Item(str(place), _NOTE, tuple(forms)))
    return Section("notes", tuple(items), gains=(0.9, 1.0))


# The order of the steps


class _Costs:
    """The tokens of every form, each counted when it is first asked for."""

    def __init__(self, counter: TokenCounter, format_: Format, sections: Sequence[Section]) -> None:
        self.counter, self._format, self._sections = counter, format_, sections
        self._between = between(format_)
        self._known = [[self._of_item(item) for item in section.items] for section in sections]

    def of(self, section: int, item: int, form: int) -> int:
        """Return what a form costs with what parts it from the next."""
        if form < 0:
            return 0
        tokens = self._known[section][item].tokens
        if tokens[form] < 0:
            text = self._sections[section].items[item].forms[form]
            tokens[form] = self.counter.count(f"{text}{self._between}")
        return tokens[form]

    def path(self, section: int, item: int) -> list[tuple[int, int, float]]:
        """Return the steps of an item that pay, without forms that a larger one makes pointless.

        Each as the form before, the form after, and what each token brings of the item's value.
        """
        gains, known = self._sections[section].gains, self._known[section][item]
        found = known.paths.get(gains)
        if found is None:
            found = known.paths[gains] = self._path(section, item, gains)
        return found

    def _path(
        self, section: int, item: int, gains: Sequence[float]
    ) -> list[tuple[int, int, float]]:
        path = [(-1, 0.0, 0, 0.0)]  # form, gain, cost, and what each token of the step there brings
        for form in _distinct(self._sections[section].items[item].forms):
            gain, cost = gains[form], self.of(section, item, form)
            while True:
                _, before, paid, rate = path[-1]
                fresh = (gain - before) / max(cost - paid, 0.5)
                if len(path) == 1 or fresh < rate:
                    break
                path.pop()
            path.append((form, gain, cost, fresh))
        return [(one[0], other[0], other[3]) for one, other in pairwise(path)]

    def _of_item(self, item: Item) -> Known:
        found = None if item.known is None else item.known.get(self.counter.name)
        if found is None:
            found = Known([-1] * len(item.forms))
            if item.known is not None:
                item.known[self.counter.name] = found
        return found

    def last(self, section: int, item: int, form: int) -> int:
        """Return what a form costs as the last of its section."""
        if self._format == "markdown":
            return self.of(section, item, form)
        return self.counter.count(f"{self._sections[section].items[item].forms[form]}\n")

    def frame(self, section: int) -> int:
        """Return what the name of a section and its end cost."""
        closing = closed(self._format)
        opening = self.counter.count(opened(self._sections[section].name, self._format))
        return opening + (self.counter.count(closing) if closing else 0)

    def around(self, section: int) -> int:
        """Return what the first item of a section costs besides, at the most."""
        return self.frame(section) + (_UNPARTED if self._format == "json" else 0)


def _by_value(sections: Sequence[Section], costs: _Costs) -> list[_Step]:
    """Return the steps that pay, best first; those of one item in the order of its forms."""
    steps: list[_Step] = []
    for s, section in enumerate(sections):
        for i, item in enumerate(section.items):
            worth = item.value * section.weight
            steps += [(-rate * worth, s, i, to, of) for of, to, rate in costs.path(s, i)]
    return sorted(steps)


def _from_the_top(sections: Sequence[Section]) -> list[_Step]:
    return [
        (0.0, s, i, len(item.forms) - 1, -1)
        for s, section in enumerate(sections)
        for i, item in enumerate(section.items)
    ]


def _distinct(forms: Sequence[str]) -> Sequence[int]:
    """Return the positions of the forms, of equal ones the last."""
    if len(set(forms)) == len(forms):
        return range(len(forms))
    return sorted({form: place for place, form in enumerate(forms)}.values())


def _fit(steps: Sequence[_Step], costs: _Costs, room: int) -> dict[tuple[int, int], int]:
    """Take the longest beginning of the steps that fits; return the form of each item."""
    forms: dict[tuple[int, int], int] = {}
    opened: set[int] = set()
    for _, section, item, after, before in steps:
        paid = costs.of(section, item, before)
        fresh = costs.around(section) if section not in opened else 0
        for form in range(after, before, -1):
            cost = costs.of(section, item, form) - paid + fresh
            if cost <= room:
                forms[section, item] = form
                opened.add(section)
                room -= cost
                break
        else:
            return forms
        if form < after:
            return forms
    return forms


# The cursor


def _listed(sections: Sequence[Section], names: Iterable[tuple[int, int]]) -> str:
    return compact([[sections[s].name, sections[s].items[i].id] for s, i in names])


def _digest(*parts: str) -> str:
    """Return digits for the request and all that it found, so that a cursor fits nothing else."""
    number = int(hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest(), 16)
    return str(number % 10**_DIGITS).zfill(_DIGITS)


def _position(cursor: str, owner: str, count: int) -> int:
    """Return how many items were shown before a cursor; raises UsageError for a foreign one."""
    shown = cursor.removeprefix(owner)
    plain = cursor.isascii() and cursor.isdigit() and len(cursor) <= _MAX_DIGITS
    if not plain or shown == cursor or not shown or not int(shown) < count:
        raise UsageError(
            "This cursor belongs to another request, or the memory has changed since; "
            "ask again without it."
        )
    return int(shown)


def _left(
    sections: Sequence[Section],
    forms: Mapping[tuple[int, int], int],
    before: set[tuple[int, int]],
    cursor: str,
) -> Left:
    omitted: Counter[str] = Counter()
    smaller: Counter[str] = Counter()
    for s, section in enumerate(sections):
        for i, item in enumerate(section.items):
            form = forms.get((s, i))
            if form is not None:
                smaller[section.name] += item.forms[form] != item.forms[-1]
            elif (s, i) not in before:
                omitted[section.name] += 1
    found, stepped = dict(omitted), {name: count for name, count in smaller.items() if count}
    return Left(omitted=found, stepped_down=stepped, resume=cursor if found else None)


# The text


def _written(
    sections: Sequence[Section],
    forms: Mapping[tuple[int, int], int],
    left: Left,
    costs: _Costs,
    frame: Frame,
) -> Packed:
    counter, head = costs.counter, head_of(frame)
    blocks, shown, cost = [head], [], counter.count(head) if head else 0
    for s, section in enumerate(sections):
        own = [(i, forms[s, i]) for i in range(len(section.items)) if (s, i) in forms]
        if own:
            shown += [Shown(section.name, section.items[i].id, form) for i, form in own]
            lines = between(frame.format).join(section.items[i].forms[form] for i, form in own)
            blocks += [opened(section.name, frame.format), lines, "\n", closed(frame.format)]
            cost += costs.frame(s) + costs.last(s, *own[-1])
            cost += sum(costs.of(s, i, form) for i, form in own[:-1])
    tokens = 0
    while (total := cost + counter.count(tail_of(left, counter.name, tokens, frame))) > tokens:
        tokens = total
    text = "".join(blocks) + tail_of(left, counter.name, tokens, frame)
    return Packed(text, tokens, counter.name, tuple(shown), left)


def _overhead(sections: Sequence[Section], budget: int, counter: TokenCounter, frame: Frame) -> int:
    """Return what an answer costs besides its sections, at the most."""
    most = {section.name: _nines(len(section.items)) for section in sections}
    digits = _DIGITS + len(str(sum(len(section.items) for section in sections)))
    cursor = f"{'9' * digits}{frame.mark}"
    all_left = Left(omitted=most, stepped_down=most, resume=cursor)
    tails = [tail_of(left, counter.name, _nines(budget), frame) for left in (all_left, Left())]
    return counter.count(head_of(frame)) + max(map(counter.count, tails))


def _nines(number: int) -> int:
    return int("9" * len(str(number)))
