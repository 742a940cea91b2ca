"""Files that survive a crash: written as a whole or not at all, and SQLite databases."""
