"""Files of arrays with a header, complete or absent, and named by a hash of what they were computed from."""
