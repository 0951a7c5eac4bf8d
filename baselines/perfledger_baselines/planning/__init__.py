"""Plans what a check measures: which baseline, how many pairs, for how long."""
