"""Price sheets and bills."""
