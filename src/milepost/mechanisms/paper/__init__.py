"""The mechanism of Huang and Roth: a private game against a learner of convex functions."""
