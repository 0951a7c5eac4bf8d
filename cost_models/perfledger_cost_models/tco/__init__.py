"""The cost of an accelerator-hour and of a unit of work, on owned and on rented hardware."""
