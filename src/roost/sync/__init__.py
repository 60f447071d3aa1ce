"""Who has what: state vectors, IBLT, Bloom filters; SVS, PSync full and partial behind one port."""
