"""Speed of a workload on hardware it was not measured on, by roofline."""
