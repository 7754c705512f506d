"""TVMScript of Relax: parser and printer."""
