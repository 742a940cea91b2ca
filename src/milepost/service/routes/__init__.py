"""Routes: the addresses of the interface, by what they are about."""
