"""The providers' public price services, behind functions that give lines and pages."""
