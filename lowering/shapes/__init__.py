"""Shape lowering (level R1 to T): symbols become ``index`` values, and shapes of parameters are checked at entry."""
