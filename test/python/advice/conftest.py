"""Makes the tables of advice, and the fuzzer's interpreter, importable by name."""

from __future__ import annotations

import sys
from pathlib import Path

for _folder in ("fuzz", "advice"):
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / _folder))
