func.func @first() { return }

// -----
func.func @second() { return %x : i32 }
// -----
func.func @third() { return }
