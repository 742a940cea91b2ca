"""How time and memory grow with the table, on one computer and with Spark, and constants that predict both."""
