"""Renders results: terminal text, Markdown, JSON, CSV, HTML, SVG, XLSX and PDF."""
