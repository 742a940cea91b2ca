"""Serve releases and sessions over HTTP, with keys, budgets and a web page; see docs/service.md."""
