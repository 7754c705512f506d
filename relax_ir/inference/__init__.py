"""The struct info of Relax expressions, and what TVM knows of its operators."""
