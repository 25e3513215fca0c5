irdl.dialect @half {
  irdl.nothing @x
}
