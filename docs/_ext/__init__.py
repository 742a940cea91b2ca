"""What `make docs` adds to the pages: the references that are generated from the code."""
