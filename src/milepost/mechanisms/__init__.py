"""Mechanisms: noise on a statistic, and the estimates that follow. No mechanism sees a record or a metric."""
