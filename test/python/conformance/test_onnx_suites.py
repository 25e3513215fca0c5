"""A sample of ONNX's suites in a child process; `make conformance` runs all of them."""

from __future__ import annotations

import pytest
import refused_cases
from case_runner import Outcome, case_names, run_cases

pytestmark = pytest.mark.slow

EVERY = 32
"""One of this many cases of the node suite is run; as names are sorted, each is of another kind."""


@pytest.fixture(scope="module")
def outcomes() -> list[Outcome]:
    names = {kind: all_names[:: EVERY if kind == "node" else 6] for kind, all_names in case_names().items()}
    return run_cases([(kind, name) for kind in names for name in names[kind]], 1)


def test_no_case_fails(outcomes: list[Outcome]) -> None:
    assert [(o.name, o.reason) for o in outcomes if o.verdict == "failed"] == []


def test_refused_cases_are_listed_with_a_reason(outcomes: list[Outcome]) -> None:
    assert refused_cases.surprises(outcomes) == []
    assert all(o.reason for o in outcomes if o.verdict == "refused")


def test_most_cases_pass(outcomes: list[Outcome]) -> None:
    assert sum(o.verdict == "passed" for o in outcomes) > 0.9 * len(outcomes)
