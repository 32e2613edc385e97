"""JSON as clients keep it, with or without comments and trailing commas, edited in place.

One member of one object is put in, replaced or taken out; every other character stays where it is.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

_COMMENT = re.compile(r'"(?:[^"\\]|\\.)*"|//[^\r\n]*|/\*.*?\*/', re.DOTALL)
_COMMA = re.compile(r'"(?:[^"\\]|\\.)*"|,(?=\s*[}\]])', re.DOTALL)
_BLANK = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()


@dataclass(frozen=True, slots=True)
class _Member:
    """One member: where it begins, and where its value does and ends."""

    key: str
    start: int
    value: int
    end: int


@dataclass(frozen=True, slots=True)
class _Object:
    """An object: where its braces are, and its members."""

    start: int
    end: int
    members: tuple[_Member, ...]

    def member(self, key: str) -> _Member | None:
        """Return a member; raises ValueError when two have that name."""
        found = [one for one in self.members if one.key == key]
        if len(found) > 1:
            raise ValueError(f"the key {key} stands twice")
        return found[0] if found else None


class Text:
    """A text, without its comments, and without its trailing commas: all of the same length."""

    def __init__(self, text: str) -> None:
        """Read a text; raises ValueError or RecursionError for what is no JSON even so."""
        self.text = text
        self.bare = _COMMENT.sub(_blanked, text.replace("\ufeff", " ", 1))
        self.plain = _COMMA.sub(_blanked, self.bare)
        self.is_empty = not self.plain.strip()
        self.content: Any = {} if self.is_empty else json.loads(self.plain, parse_constant=str)
        self._line_end = "\r\n" if "\r\n" in text else "\n"
        indented = re.search(r'^([ \t]+)"', self.plain, re.MULTILINE)
        self._unit = indented[1] if indented else "  "

    def put(self, way: Sequence[str], key: str, value: Any) -> str:
        """Return the text with a member of the object that the way leads to.

        Objects that are not there yet are made. Raises TypeError when something else is there.
        """
        if self.is_empty:
            start = "" if self.text.strip("\ufeff")[-1:] in {"", "\n"} else self._line_end
            whole = self._rendered(_nested([*way, key], value), "")
            return f"{self.text}{start}{whole}{self._line_end}"
        place = self._root()
        for step, name in enumerate(way):
            member = place.member(name)
            if member is None:
                return self._inserted(place, name, _nested([*way[step + 1 :], key], value))
            place = self._object(member.value)
        member = place.member(key)
        if member is None:
            return self._inserted(place, key, value)
        alone = self._is_on_one_line(place)
        new = self._rendered(value, None if alone else self._indent_at(member.start))
        return f"{self.text[: member.value]}{new}{self.text[member.end :]}"

    def without(self, way: Sequence[str], key: str) -> str:
        """Return the text without a member, which has to be there."""
        place = self._root()
        for name in way:
            member = place.member(name)
            if member is None:
                return self.text
            place = self._object(member.value)
        member = place.member(key)
        return self.text if member is None else self._removed(place, member)

    def _root(self) -> _Object:
        return self._object(_skip(self.plain, 0))

    def _object(self, start: int) -> _Object:
        """Read one object, passing over the values in it."""
        if self.plain[start] != "{":
            raise TypeError("this is no object")
        members = []
        place = _skip(self.plain, start + 1)
        while self.plain[place] != "}":
            key, after = _DECODER.raw_decode(self.plain, place)
            value = _skip(self.plain, _skip(self.plain, after) + 1)
            end = _DECODER.raw_decode(self.plain, value)[1]
            members.append(_Member(key, place, value, end))
            place = _skip(self.plain, end)
            if self.plain[place] == ",":
                place = _skip(self.plain, place + 1)
        return _Object(start, place, tuple(members))

    def _inserted(self, place: _Object, key: str, value: Any) -> str:
        """Return the text with one more member at the end of an object."""
        text, name = self.text, json.dumps(key, ensure_ascii=False)
        if not place.members:
            outer = self._indent_at(place.start)
            indent = outer + self._unit
            whole = f"{self._line_end}{indent}{name}: {self._rendered(value, indent)}"
            line = self._end_of_line(place.start + 1, place.end)
            if line is not None:
                return f"{text[:line]}{whole}{text[line:]}"
            inside = text[place.start + 1 : place.end].rstrip()
            before = text[: place.start + 1]
            return f"{before}{inside}{whole}{self._line_end}{outer}{text[place.end :]}"
        last = place.members[-1].end
        comma = self.bare.find(",", last, place.end)
        anchor = last if comma < 0 else comma + 1
        if self._is_on_one_line(place):
            line, whole = anchor, f" {name}: {self._rendered(value, None)}"
        else:
            indent = self._indent_at(place.members[-1].start)
            line = self._end_of_line(anchor, place.end) or anchor
            whole = f"{self._line_end}{indent}{name}: {self._rendered(value, indent)}"
        head = text[:last] + ("," if comma < 0 else "") + text[last:line]
        return f"{head}{whole}{'' if comma < 0 else ','}{text[line:]}"

    def _removed(self, place: _Object, member: _Member) -> str:
        """Return the text without a member, its comma, and its lines when nothing else is there."""
        text = self.text
        comma = self.bare.find(",", member.end, _skip(self.bare, member.end) + 1)
        start, end = member.start, member.end if comma < 0 else comma + 1
        around = text[place.start + 1 : start] + text[end : place.end]
        if len(place.members) == 1 and not around.strip():
            return text[: place.start + 1] + text[place.end :]
        begin = text.rfind("\n", 0, start) + 1
        if not text[begin:start].strip(" \t"):
            line = self._end_of_line(end, len(text))
            if line is not None and not text[end:line].strip(" \t"):
                # from the end of the line before up to the end of the last line
                start, end = begin - (2 if text[begin - 2 : begin] == "\r\n" else 1), line
                start = max(start, 0)
        position = place.members.index(member)
        if comma >= 0 or position == 0:
            return text[:start] + text[end:]
        before = self.bare.index(",", place.members[position - 1].end)
        return text[:before] + text[before + 1 : start].rstrip(" \t") + text[end:]

    def _rendered(self, value: Any, indent: str | None) -> str:
        """Return a value as JSON: on one line, or on lines that go on at an indent."""
        unit = None if indent is None else self._unit
        try:
            written = json.dumps(value, ensure_ascii=False, indent=unit)
            written.encode("utf-8")
        except UnicodeEncodeError:  # half a surrogate pair, which JSON can only escape
            written = json.dumps(value, indent=unit)
        return written.replace("\n", f"{self._line_end}{indent or ''}")

    def _is_on_one_line(self, place: _Object) -> bool:
        return bool(place.members) and "\n" not in self.plain[place.start : place.members[0].start]

    def _indent_at(self, place: int) -> str:
        line = self.text.rfind("\n", 0, place) + 1
        found = re.compile(r"[ \t]*").match(self.text, line)
        return found[0] if found else ""

    def _end_of_line(self, start: int, stop: int) -> int | None:
        """Return where the line ends, when there is nothing but a comment before that."""
        found = re.compile(r"[ \t]*\r?\n").match(self.plain, start, stop)
        if found is None:
            return None
        return found.end() - (2 if self.plain[: found.end()].endswith("\r\n") else 1)


def _blanked(found: "re.Match[str]") -> str:
    return found[0] if found[0].startswith('"') else " " * len(found[0])


def _skip(text: str, place: int) -> int:
    found = _BLANK.match(text, place)
    return found.end() if found else place


def _nested(way: Sequence[str], value: Any) -> Any:
    for name in reversed(way):
        value = {name: value}
    return value
