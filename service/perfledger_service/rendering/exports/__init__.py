"""Owns the files of an export: a table's rows as CSV or Parquet, and the package around them."""
