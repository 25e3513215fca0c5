"""The calling convention (level V to F): entry points, packed calls, objects, tables of a module, instrumentation."""
