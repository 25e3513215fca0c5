// --tuned takes a file that relax-tune has written; what it has of other modules does no harm.
// RUN: echo '{"error": "", "name": "f", "sizes": [{}], "target": "cpu", "task": "of another", "times": [{"high": 2.0, "low": 2.0, "ratio": 2.0, "seconds": 1.0}], "values": {"tile": 4}, "version": 1}' > %t.json && relax-opt --tuned=%t.json %s --legalize-ops | filecheck %s
// RUN: not relax-opt --tuned=%S/Inputs/absent.json %s --legalize-ops 2>&1 | filecheck %s --check-prefix=ABSENT
// RUN: echo '{"version": 1}' > %t.bad.json && not relax-opt --tuned=%t.bad.json %s --legalize-ops 2>&1 | filecheck %s --check-prefix=BROKEN

// CHECK: func.func private @exp
// ABSENT: relax-opt: error: cannot open the measurements of tuning: there is no file '{{.+}}absent.json'
// BROKEN: relax-opt: error: {{.+}}.bad.json:1: no record of a measurement: there is no 'task'

func.func @main(%x: tensor<?xf32, #relax.shape<["n"]>>) -> tensor<?xf32, #relax.shape<["n"]>> {
  %y = "relax.exp"(%x) : (tensor<?xf32, #relax.shape<["n"]>>) -> tensor<?xf32, #relax.shape<["n"]>>
  return %y : tensor<?xf32, #relax.shape<["n"]>>
}
