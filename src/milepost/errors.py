"""The one exception of the library: bad input, refused before any budget is spent."""


class MilepostError(ValueError):
    """What was expected, what came, and what to do; nothing has been spent or written."""


class PromiseWarning(UserWarning):
    """The answer is private but weaker than the user may think: a wide error, or a query moved into the space."""
