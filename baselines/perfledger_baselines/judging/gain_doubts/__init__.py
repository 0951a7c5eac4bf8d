"""Signs that head does less in its measured steps than base does."""
