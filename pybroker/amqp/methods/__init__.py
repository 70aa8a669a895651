"""What each method does, one file a class of the specification."""
