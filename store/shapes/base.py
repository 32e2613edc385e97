"""What the shape of a kind is made of."""

from typing import Annotated, ClassVar

from pydantic import AfterValidator, BaseModel, ConfigDict
from pydantic_core import PydanticCustomError

from shiyi.core.dates import parse_day_range
from shiyi.core.errors import UsageError

MISSING = "missing"  # the type that pydantic gives to what is not there


def _visible(text: str) -> str:
    if not text.strip():
        raise ValueError("It is empty; give at least one visible character")
    return text


def _a_date(text: str) -> str:
    try:
        parse_day_range(text)
    except UsageError as error:
        raise ValueError(str(error).rstrip(".")) from None
    return text


Words = Annotated[str, AfterValidator(_visible)]
Day = Annotated[str, AfterValidator(_a_date)]


class Shape(BaseModel):
    """The attrs of one kind. `references` names the fields that hold ids of records.

    `begins` holds what a record that is newly made as its kind must say, when it says anything;
    `stays`, of these, what an edit does not change either, and why.
    """

    model_config = ConfigDict(strict=True, extra="allow")
    references: ClassVar[tuple[str, ...]] = ()
    begins: ClassVar[dict[str, str]] = {}
    stays: ClassVar[dict[str, str]] = {}


def needed(sentence: str) -> PydanticCustomError:
    """Return the error for what only a newly made record must have."""
    return PydanticCustomError(MISSING, "{sentence}", {"sentence": sentence})
