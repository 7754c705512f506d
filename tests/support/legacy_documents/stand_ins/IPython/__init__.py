"""What documents use of IPython: code that is shown in colours."""

from IPython import display

__all__ = ["display"]
