"""From any table to its exact statistic: the only folder that sees a private row."""
