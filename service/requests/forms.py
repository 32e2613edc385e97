"""The forms that the fields of requests take, at every door."""

import json
import os
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field
from pydantic.config import JsonDict

from shiyi.core.ids import MAX_EXTERNAL_ID

# How the command line takes a field: `argument` by position, `words` by position, --file or
# standard input, `commas` as an option whose values may be joined by commas; everything else is an
# option.
ARGUMENT: JsonDict = {"cli": "argument"}
WORDS: JsonDict = {"cli": "words"}
COMMAS: JsonDict = {"cli": "commas"}
# What only a person may say: at the command line or in a program of theirs. A door that agents
# write through leaves such a field out.
PERSON: JsonDict = {"only": "person"}  # no model is offered it
OWNER: JsonDict = {"only": "owner"}  # and no token may say it
MAX_NAME = 200
_LEAST_TOKENS, _MOST_TOKENS = 200, 10_000_000


def flag(name: str) -> JsonDict:
    """Name the option of a list after one of its items."""
    return {"flag": name}


def _without_blanks(names: list[str]) -> list[str]:
    return [name for name in names if name.strip()]


def _as_text(path: Any) -> Any:
    text = os.fspath(path) if isinstance(path, os.PathLike) else path
    if isinstance(text, str):
        if not text or "\0" in text:
            raise ValueError("A path has at least one character and no NUL")
        os.fsencode(text)  # half a surrogate pair has no form on a disk: a ValueError
    return text


def _in_a_list(given: Any) -> Any:
    return [given] if isinstance(given, str | os.PathLike) else given


def _as_object(given: Any) -> Any:
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except (ValueError, RecursionError):
            raise ValueError('Write a JSON object, such as {"name": "value"}') from None
    if not isinstance(given, Mapping):
        raise ValueError('An object has names and values, such as {"name": "value"}')  # noqa: TRY004
    return dict(given)


def _parted(given: Any) -> Any:
    """Return what stands between commas, each once."""
    if not isinstance(given, str | list | tuple):
        return given
    parts: list[Any] = []
    for one in [given] if isinstance(given, str) else given:
        parts += [part.strip() for part in one.split(",")] if isinstance(one, str) else [one]
    return list(dict.fromkeys(part for part in parts if part != ""))


# A path, as text or as pathlib has it.
Place = Annotated[str, BeforeValidator(_as_text)]

Places = Annotated[list[Place], BeforeValidator(_in_a_list)]
Parted = BeforeValidator(_parted)

# An object, as a mapping or as its JSON text.
JsonObject = Annotated[dict[str, Any], BeforeValidator(_as_object)]

# On the command line an empty list is written as one empty name.
Names = Annotated[list[str], AfterValidator(_without_blanks)]


class Request(BaseModel):
    """A request: unknown fields are refused."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=False)


class Reading(Request):
    """A request that reads memories, perhaps on behalf of a turn whose words come first."""

    turn: str | None = Field(
        None,
        max_length=MAX_NAME,
        description="the turn that it is asked under; refused until its words are captured",
    )
    maintenance: bool = Field(
        False, description="ask under the turn all the same; the trace says so"
    )


def optional_name(description: str) -> Any:
    """Return the field of a short text that may be left out."""
    return Field(None, max_length=MAX_NAME, description=description)


def allow_secret() -> Any:
    """Return the field by which a person keeps what looks like a secret all the same."""
    return Field(
        False,
        description="keep what looks like a password, key or token all the same; a person's word",
        json_schema_extra=OWNER,
    )


def record_id() -> Any:
    """Return the field that names a record, by position."""
    return Field(
        min_length=1,
        max_length=MAX_EXTERNAL_ID,
        description="the id of a record, or the name that its source gave it",
        json_schema_extra=ARGUMENT,
    )


def token_budget(default: int) -> Any:
    """Return the field of a budget."""
    return Field(
        default,
        ge=_LEAST_TOKENS,
        le=_MOST_TOKENS,
        description="the most tokens that the answer may cost; at least 200",
    )


# One thing, or a list of them, as doors other than the command line may give it.
SEVERAL = BeforeValidator(lambda given: [given] if isinstance(given, str) else given)
