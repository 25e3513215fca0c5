"""All tables of advice."""

from __future__ import annotations

import builder_call_rows
import builder_rows
import export_rows
import module_rows
import pass_rows
import prim_rows
import prim_text_rows
import protocol_rows
import runtime_rows
import script_line_rows
import script_rows
import te_rows
import text_rows
import vm_rows
from advice_rows import Table

TABLES: tuple[Table, ...] = (
    builder_rows.TABLE,
    builder_call_rows.TABLE,
    protocol_rows.TABLE,
    script_rows.TABLE,
    script_line_rows.TABLE,
    prim_rows.TABLE,
    prim_text_rows.TABLE,
    module_rows.TABLE,
    te_rows.TABLE,
    pass_rows.TABLE,
    text_rows.TABLE,
    runtime_rows.TABLE,
    vm_rows.TABLE,
    export_rows.TABLE,
)
