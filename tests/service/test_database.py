"""The database of a service: what is in its file has names that outlive those of classes."""

from dataclasses import fields

from milepost.service.database import SCHEMA, TABLES


def test_a_directory_that_was_made_before_can_be_served() -> None:
    """Tables and columns as version 1 has had them from the start; another layout needs another version."""
    assert SCHEMA.version == 1
    assert {table: [field.name for field in fields(kind)] for kind, table in TABLES.items()} == {
        "Key": ["id", "name", "role", "share", "digest", "created", "revoked"],
        "Release": ["id", "title", "dataset", "created"],
        "Opened": ["id", "title", "analyst", "dataset", "source", "words", "created", "state", "about", "transcript"],
        "Job": ["id", "kind", "of", "author", "words", "created", "state", "detail"],
    }
