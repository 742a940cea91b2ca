"""Questions of a released file besides mean distances."""
