"""Shape lowering (level R1 to T): symbols become ``index`` values, shapes of parameters are checked at entry."""
