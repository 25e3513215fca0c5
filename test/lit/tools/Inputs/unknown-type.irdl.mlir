irdl.dialect @x {
  irdl.operation @a {
    %0 = irdl.base "!nope.t"
    irdl.operands(q: %0)
  }
}
