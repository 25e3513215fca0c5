"""All tables of advice: `TABLE` of each file of rows, by the name of the file."""

from __future__ import annotations

import importlib
from pathlib import Path

from advice_rows import Table

TABLES: dict[str, Table] = {
    path.stem.removesuffix("_rows").replace("_", "-"): importlib.import_module(path.stem).TABLE
    for path in sorted(Path(__file__).parent.glob("*_rows.py"))
    if path.stem != "advice_rows"
}
