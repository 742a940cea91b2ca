"""Sessions: queries that arrive one by one, in memory or in a store."""
