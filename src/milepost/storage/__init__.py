"""Crash-safe storage: files that are written completely or not at all, and SQLite databases."""
