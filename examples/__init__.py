"""Programs that show the compiler at work on real models."""
