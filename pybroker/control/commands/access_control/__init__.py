"""What users may do in which virtual hosts."""
