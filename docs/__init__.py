"""The documentation; what of it is generated from the code is in `_ext`."""
