"""Ways between an exchange's and a client's network, measured at the same time."""
