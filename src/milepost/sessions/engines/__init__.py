"""What answers the questions of a session: noise on exact distances, the game of the paper, or a synopsis."""
