"""Makes linked work trees independent of the folder of the repository that they come from."""
