"""Commands about price sheets and bills."""
