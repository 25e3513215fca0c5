"""TVM Relax rebuilt on MLIR, in Python alone."""
