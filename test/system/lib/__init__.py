"""Code that the suites in the parent directory share."""
