"""What errors about prim funcs in MLIR's text advise is done, and gives the right result."""

from __future__ import annotations

import pytest
from prim_text_rows import TABLE


@pytest.mark.parametrize("name", TABLE.names)
def test_what_the_message_advises_works(name: str) -> None:
    TABLE.provoke(name)
    TABLE.follow(name)
