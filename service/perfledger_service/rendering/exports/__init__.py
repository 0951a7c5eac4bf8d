"""Owns the files of an export: tables as CSV or Parquet, and the package that describes them."""
