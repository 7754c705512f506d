"""What ``SimplifyExpr`` does, rule by rule."""
