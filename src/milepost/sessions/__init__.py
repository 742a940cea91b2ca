"""The interactive setting: queries that arrive one by one, answered in memory or with a store."""
