"""Answers as they go out: as JSON, and whole from one process to another."""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from shiyi.retrieval.packing import Budgeted
from shiyi.service import responses
from shiyi.service.table.operations import Operation


def response_model(operation: Operation) -> type[BaseModel]:
    """Return the model that an operation answers with."""
    model: type[BaseModel] = getattr(responses, operation.response)
    return model


def is_budgeted(operation: Operation) -> bool:
    """Tell whether the answers of an operation are fitted to a budget in the format asked for."""
    return issubclass(response_model(operation), Budgeted)


def as_json(answer: BaseModel) -> str:
    """Return the answer as one JSON object; what was fitted to a budget as it was counted."""
    return answer.text.rstrip("\n") if isinstance(answer, Budgeted) else answer.model_dump_json()


def packed(answer: BaseModel) -> dict[str, Any]:
    """Return everything that an answer holds, for another process."""
    content = answer.model_dump(mode="json")
    return content | {"text": answer.text} if isinstance(answer, Budgeted) else content


def unpacked(operation: Operation, content: Mapping[str, Any]) -> BaseModel:
    """Return the answer that another process packed."""
    return response_model(operation).model_validate(content)
