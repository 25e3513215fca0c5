"""The fuzzer's modules import each other, and those of the differential tester, by name."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import paths  # noqa: F401 - the next imports need it
