import relax_mlir as rx

WIDTH = rx.nothing
