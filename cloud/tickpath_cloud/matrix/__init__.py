"""Instance type x image x tuning x network adapter: one host or a pair for each, one table."""
