"""How ops of PyTorch are imported: one file per family of ops."""
