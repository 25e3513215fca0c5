irdl.dialect @relax {
}
