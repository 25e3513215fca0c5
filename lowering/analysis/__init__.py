"""Analyses of prim funcs: index ranges, access bounds, dependence of iterations, sizes and lifetimes of buffers."""
