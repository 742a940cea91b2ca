"""The package as it is imported, built and installed."""
