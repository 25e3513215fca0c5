"""What errors in scripts advise is done, and gives the right result."""

from __future__ import annotations

import prim_rows
import pytest
import script_line_rows
import script_rows


@pytest.mark.parametrize("name", script_rows.TABLE.names)
def test_what_the_message_advises_works(name: str) -> None:
    script_rows.TABLE.provoke(name)
    script_rows.TABLE.follow(name)


@pytest.mark.parametrize("name", prim_rows.TABLE.names)
def test_what_errors_in_prim_funcs_advise_works(name: str) -> None:
    prim_rows.TABLE.provoke(name)
    prim_rows.TABLE.follow(name)


@pytest.mark.parametrize("name", script_line_rows.TABLE.names)
def test_what_errors_in_lines_advise_works(name: str) -> None:
    script_line_rows.TABLE.provoke(name)
    script_line_rows.TABLE.follow(name)
