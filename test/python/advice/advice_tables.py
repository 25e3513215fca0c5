"""All tables of advice."""

from __future__ import annotations

import builder_call_rows
import builder_rows
import closure_rows
import distributed_rows
import export_rows
import expression_rows
import indexing_rows
import library_rows
import module_rows
import network_rows
import onnx_rows
import pass_rows
import prim_rows
import prim_text_rows
import protocol_rows
import runtime_rows
import schedule_rows
import script_line_rows
import script_rows
import strategy_rows
import te_operation_rows
import te_rows
import tensorize_rows
import text_rows
import tool_rows
import torch_rows
import tune_command_rows
import tuning_rows
import vm_rows
from advice_rows import Table

TABLES: dict[str, Table] = {
    "builder": builder_rows.TABLE,
    "builder-call": builder_call_rows.TABLE,
    "indexing": indexing_rows.TABLE,
    "network": network_rows.TABLE,
    "protocol": protocol_rows.TABLE,
    "script": script_rows.TABLE,
    "script-line": script_line_rows.TABLE,
    "prim": prim_rows.TABLE,
    "prim-text": prim_text_rows.TABLE,
    "module": module_rows.TABLE,
    "te": te_rows.TABLE,
    "te-operation": te_operation_rows.TABLE,
    "schedule": schedule_rows.TABLE,
    "tensorize": tensorize_rows.TABLE,
    "strategy": strategy_rows.TABLE,
    "tuning": tuning_rows.TABLE,
    "closure": closure_rows.TABLE,
    "pass": pass_rows.TABLE,
    "expression": expression_rows.TABLE,
    "text": text_rows.TABLE,
    "tool": tool_rows.TABLE,
    "tune-command": tune_command_rows.TABLE,
    "runtime": runtime_rows.TABLE,
    "vm": vm_rows.TABLE,
    "export": export_rows.TABLE,
    "distributed": distributed_rows.TABLE,
    "library": library_rows.TABLE,
    "onnx": onnx_rows.TABLE,
    "torch": torch_rows.TABLE,
}
