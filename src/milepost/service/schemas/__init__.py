"""Models of requests and responses, which are strict and documented in OpenAPI."""
