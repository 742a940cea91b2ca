"""A release for people: descriptions, statements and pictures."""
