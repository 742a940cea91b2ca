"""The exact statistic of a Spark frame, made by tasks where its rows are."""
