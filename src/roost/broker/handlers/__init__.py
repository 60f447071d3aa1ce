"""What the server does with each packet of a client: one module per packet, `handle` in each."""
