"""Energy, carbon emissions, and the greenest or cheapest time to start a job."""
