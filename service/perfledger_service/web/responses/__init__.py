"""What all answers have in common: security headers, and errors as problem documents."""
