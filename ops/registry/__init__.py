"""What a record of an operator is, the table of all records, and what is asked of them."""
