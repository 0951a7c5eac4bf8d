"""Parts shared by all renderings: numbers, words, escaping, tables and templates."""
