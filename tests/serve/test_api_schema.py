"""Random requests by the API's own OpenAPI document: no 500, and every answer is what the document says."""

from __future__ import annotations

import pytest

schemathesis = pytest.importorskip("schemathesis")
from hypothesis import HealthCheck, given, settings  # noqa: E402
from schemathesis.checks import not_a_server_error  # noqa: E402
from schemathesis.specs.openapi.checks import (  # noqa: E402
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from served import LOOPBACK, read  # noqa: E402

from ecmsketch.serve.app import make_app  # noqa: E402

CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]


def test_the_api_is_what_it_says(known_store):
    """pytest's own plugin of schemathesis does not work with every pytest, so hypothesis runs the cases."""
    app = make_app(read(known_store), LOOPBACK, page=False)
    described = schemathesis.openapi.from_asgi("/api/v1/openapi.json", app)
    operations = [result.ok() for result in described.get_all_operations()]
    assert len(operations) == 11
    for operation in operations:

        @settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
        @given(case=operation.as_strategy())
        def check(case):
            case.call_and_validate(checks=CHECKS)

        check()
