"""All operations: a file for each chapter of the standard, then what the standard lacks."""
