"""Import rules of PyTorch ops, one file per family."""
