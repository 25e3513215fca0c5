func.func @wrong_message(%a: i32) {
  // expected-error @below {{another message}}
  return %a : i32
}

// -----

func.func @silent() { // expected-warning {{never comes}}
  return
}
// -----
func.func @unexpected() -> i32 { return %x : i32 }

// -----

// expected-error above {{a place without its sign}}
func.func @malformed() { return }
