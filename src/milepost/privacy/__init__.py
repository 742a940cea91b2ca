"""The guarantee, the change that it protects, the noise that gives it, and the accounting of what is spent."""
