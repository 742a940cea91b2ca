"""Reports about a release: descriptions, statements and pictures."""
