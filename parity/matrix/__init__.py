"""Programs against backends: the table that says where results part, for many inputs."""
