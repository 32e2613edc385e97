"""Requests made up from the OpenAPI description: nothing that is sent is a fault of ours."""

from collections import Counter
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from shiyi.service.http.openapi import openapi, served
from tests.service.serving import Served


def made_up(description: dict[str, Any]) -> Any:
    """Return a strategy of calls, of all operations together."""
    # It takes a second to load, which only this one test has to wait for.
    schemathesis = pytest.importorskip("schemathesis", reason="schemathesis is not installed")
    schema = schemathesis.openapi.from_dict(description)
    found: Any = schema.get_all_operations()
    one = [result.ok() for result in found]
    return st.one_of([operation.as_strategy() for operation in one])


MANY = [pytest.param(piece, 500, marks=pytest.mark.slow, id=f"many{piece}") for piece in range(20)]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("piece", "cases"), [pytest.param(99, 40, id="some"), *MANY])
def test_no_request_is_a_fault_of_ours(piece: int, cases: int, door: Served) -> None:
    """Whatever fits the description, or nearly does, is answered below 500.

    The pieces are of one fixed corpus; all that are many make 10,000 requests.
    """
    description = openapi()
    assert len(description["paths"]) == len(list(served()))
    answers: Counter[int] = Counter()

    @seed(piece)
    @settings(max_examples=cases, phases=[Phase.generate], database=None, deadline=None,
              suppress_health_check=list(HealthCheck))  # fmt: skip
    @given(case=made_up(description))
    def check(case: Any) -> None:
        case.headers = {**(case.headers or {}), "Authorization": f"Bearer {door.token}"}
        reply = case.call(base_url=f"http://{door.url}")
        answers[reply.status_code] += 1
        assert reply.status_code < 500, (case.path, case.body, reply.content)

    check()
    print(piece, sorted(answers.items()))  # noqa: T201
    assert answers.total() >= cases
