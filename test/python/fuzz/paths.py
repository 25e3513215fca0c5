"""Puts on the path: the differential tester, whose references the interpreter uses, and what tests share."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
for _folder in (HERE, *(HERE.parent / name for name in ("differential", "support", "tools"))):
    if _folder.exists() and str(_folder) not in sys.path:
        sys.path.append(str(_folder))
