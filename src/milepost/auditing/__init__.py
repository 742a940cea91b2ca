"""Audits: run the shipped mechanisms on neighboring tables, and try to refute their claims. See docs/audit.md."""

from milepost.auditing.case import Case, Outcomes
from milepost.auditing.claims import Claim, Concentrated, Gaussian, Pure
from milepost.auditing.report import Finding, Report, audit, examine

__all__ = ["Case", "Claim", "Concentrated", "Finding", "Gaussian", "Outcomes", "Pure", "Report", "audit", "examine"]
