"""Relax modules with schedules, for apache-tvm to build."""
