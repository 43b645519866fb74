"""Code that the suites of this folder share."""
