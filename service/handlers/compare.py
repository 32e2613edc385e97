"""Comparing: results with one another; and which sets there are."""

from shiyi.core.files import expanded
from shiyi.eval.compare import compare
from shiyi.eval.files import read_result
from shiyi.eval.load import known_datasets
from shiyi.service import requests as ask
from shiyi.service import responses as answer
from shiyi.service.session import Session


def handle_eval_compare(
    _: Session, __: str, request: ask.EvalCompareRequest
) -> answer.EvalCompareResult:
    """Compare two results."""
    a, b = (read_result(expanded(one)) for one in (request.a, request.b))
    systems = (request.system[0], request.system[-1]) if request.system else None
    found = compare(a, b, systems=systems, common=request.common)
    return answer.EvalCompareResult.model_validate(found.model_dump())


def handle_eval_datasets(
    _: Session, __: str, request: ask.EvalDatasetsRequest
) -> answer.EvalDatasetsResult:
    """List the sets at hand."""
    directories = [expanded(one) for one in request.directory or ()]
    return answer.EvalDatasetsResult(datasets=known_datasets(directories or None))
