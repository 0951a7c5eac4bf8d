"""Price sheets: dated rows with sources, plausibility checks, differences and contract prices."""
