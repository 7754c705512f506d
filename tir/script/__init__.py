"""TVMScript of tensor programs: parsers and printers."""
