"""What errors of the builder advise is done, and gives the right result."""

from __future__ import annotations

import builder_call_rows
import builder_rows
import protocol_rows
import pytest


@pytest.mark.parametrize("name", builder_rows.TABLE.names)
def test_what_the_message_advises_works(name: str) -> None:
    builder_rows.TABLE.provoke(name)
    builder_rows.TABLE.follow(name)


@pytest.mark.parametrize("name", protocol_rows.TABLE.names)
def test_what_python_asks_of_values(name: str) -> None:
    protocol_rows.TABLE.provoke(name)
    protocol_rows.TABLE.follow(name)


@pytest.mark.parametrize("name", builder_call_rows.TABLE.names)
def test_what_errors_of_calls_advise_works(name: str) -> None:
    builder_call_rows.TABLE.provoke(name)
    builder_call_rows.TABLE.follow(name)
