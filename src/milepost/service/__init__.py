"""The service: releases and sessions over HTTP, with keys, budgets and a page. docs/service.md."""
