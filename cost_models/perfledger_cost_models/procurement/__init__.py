"""Buy, rent or wait: the options of a purchase and the decision between them."""
