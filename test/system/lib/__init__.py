"""Code that the suites of the folder above share."""
