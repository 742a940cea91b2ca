"""What requests and responses look like; they are strict, and OpenAPI shows them whole."""
