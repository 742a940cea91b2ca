"""The interactive setting: sessions that answer queries one by one, in memory or with a store on disk."""
