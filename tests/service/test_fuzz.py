"""Requests made up from the OpenAPI description: nothing that is sent is a fault of ours."""

from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from shiyi.service.openapi import openapi, served
from tests.service.serving import Served


def made_up(description: dict[str, Any]) -> Any:
    """Return a strategy of calls, of all operations together."""
    schema = schemathesis.openapi.from_dict(description)
    found: Any = schema.get_all_operations()
    one = [result.ok() for result in found]
    return st.one_of([operation.as_strategy() for operation in one])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "cases", [40, pytest.param(10_000, marks=pytest.mark.slow)], ids=["some", "many"]
)
def test_no_request_is_a_fault_of_ours(cases: int, door: Served) -> None:
    """Whatever fits the description, or nearly does, is answered below 500."""
    description = openapi()
    assert len(description["paths"]) == len(list(served()))
    seen = 0

    @settings(max_examples=cases, phases=[Phase.generate], database=None, deadline=None,
              suppress_health_check=list(HealthCheck))  # fmt: skip
    @given(case=made_up(description))
    def check(case: Any) -> None:
        nonlocal seen
        case.headers = {**(case.headers or {}), "Authorization": f"Bearer {door.token}"}
        reply = case.call(base_url=f"http://{door.url}")
        seen += 1
        assert reply.status_code < 500, (case.path, case.body, reply.content)

    check()
    assert seen >= cases // 2
