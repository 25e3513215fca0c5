"""Programs of other frameworks as modules of this project: one file per framework, which need not be installed."""
