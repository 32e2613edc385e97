"""Where something lies on the machine is its owner's business: a token is told no path of it.

Fields that hold a place are marked in the responses. In sentences of our own a path is left out;
stored text is shown as it is.
"""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from shiyi.retrieval.packing import Budgeted
from shiyi.service.refusal import error_from, refusal_of
from shiyi.service.responses.wording import NAME, PLACE, SENTENCE

_HOME, _ELSEWHERE = "HOME", "…"
_SENTENCES = {"notes", "warnings"}
_QUOTED = re.compile(r"""(['"])(?:~|[A-Za-z]:)?[\\/].*?\1""")
_BARE = re.compile(r"""(?<![^\s"'(\[=])(?:~|[A-Za-z]:)?[\\/][^\s"'()\[\],;]*[^\s"'()\[\],;.:]""")


def without_places(answer: BaseModel, home: Path) -> BaseModel:
    """Return an answer as it is told to a token."""
    changes = dict(_changes(answer, home))
    if isinstance(answer, Budgeted) and "notes" in changes:
        text = answer.text
        for before, now in zip(answer.notes, changes["notes"], strict=True):
            text = text.replace(_in_json(before), _in_json(now)).replace(before, now)
        changes["text"] = text
    return answer.model_copy(update=changes) if changes else answer


def error_without_places(error: Exception, home: Path) -> Exception:
    """Return an error as it is told to a token."""
    told = refusal_of(error)
    sentence = without_paths(told.message, home)
    return (
        error if sentence == told.message else error_from({**told.as_json(), "message": sentence})
    )


def without_paths(sentence: str, home: Path) -> str:
    """Return a sentence of ours with no path but those in the home, which begin with HOME."""
    for root, name in ((home, _HOME), (Path.home(), "/~")):
        if root != Path(root.anchor):
            sentence = sentence.replace(str(root), name)
    return _BARE.sub(_ELSEWHERE, _QUOTED.sub(_ELSEWHERE, sentence))


def _changes(answer: BaseModel, home: Path) -> Iterator[tuple[str, Any]]:
    for name, field in type(answer).model_fields.items():
        before = getattr(answer, name)
        now = _told(before, name, field, home)
        if now is not before:
            yield name, now


def _told(value: Any, name: str, field: FieldInfo, home: Path) -> Any:
    if _has(field, PLACE):
        return None
    if value is not None and _has(field, NAME):
        told = Path(value).name if Path(value).expanduser().is_absolute() else value
        return value if told == value else told
    if name in _SENTENCES or _has(field, SENTENCE):
        return _clean(value, home)
    return _inside(value, home)


def _has(field: FieldInfo, mark: str) -> bool:
    kinds = [field.annotation, *get_args(field.annotation)]
    return mark in field.metadata or any(mark in getattr(one, "__metadata__", ()) for one in kinds)


def _clean(value: Any, home: Path) -> Any:
    if isinstance(value, str):
        told = without_paths(value, home)
        return value if told == value else told
    told_all = [without_paths(one, home) for one in value]
    return value if told_all == value else told_all


def _inside(value: Any, home: Path) -> Any:
    """Return a value with the models that it holds as they are told."""
    if isinstance(value, BaseModel):
        return without_places(value, home)
    if isinstance(value, list | tuple):
        told = [_inside(one, home) for one in value]
        same = all(now is before for now, before in zip(told, value, strict=True))
        return value if same else told
    if isinstance(value, Mapping):
        inside = {key: _inside(one, home) for key, one in value.items()}
        return value if all(inside[key] is value[key] for key in value) else inside
    return value


def _in_json(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)[1:-1]
