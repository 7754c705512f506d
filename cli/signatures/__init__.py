"""What commands take: their options and help. What they do stands in ``cli/commands``."""
