"""Schedules that tests try: programs with random steps, and steps that must be refused."""
