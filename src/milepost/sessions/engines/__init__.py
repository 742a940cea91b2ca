"""Engines that answer a session's queries: noise on exact distances, the game of the paper, or a synopsis."""
