"""Parts that all renderings share: numbers, words, escaping, axes and templates."""
