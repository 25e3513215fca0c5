"""What errors about whole modules, tensor expressions, passes, files, calls and the machine advise is done."""

from __future__ import annotations

import export_rows
import module_rows
import pass_rows
import pytest
import runtime_rows
import te_rows
import text_rows
import tool_rows
import vm_rows
from advice_rows import Table

TABLES: dict[str, Table] = {
    "export": export_rows.TABLE,
    "module": module_rows.TABLE,
    "pass": pass_rows.TABLE,
    "runtime": runtime_rows.TABLE,
    "te": te_rows.TABLE,
    "text": text_rows.TABLE,
    "tool": tool_rows.TABLE,
    "vm": vm_rows.TABLE,
}


@pytest.mark.parametrize(("table", "name"), [(t, n) for t, table in TABLES.items() for n in table.names])
def test_what_the_message_advises_works(table: str, name: str) -> None:
    TABLES[table].provoke(name)
    TABLES[table].follow(name)
