"""Exact integers that add up; nothing after them sees a record."""
