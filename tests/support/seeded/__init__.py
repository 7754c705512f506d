"""What is wrong on purpose: translations, rules of C, and passes."""
