"""L2 and angles in any dimension: noise of anchored slopes, coverage of intervals, plans, and total errors."""
