"""Pages: values in, text out (comment, terminal, JSON, HTML). The only user of templates."""
