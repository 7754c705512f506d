"""What is found out about TensorIR without changing it: checks of a PrimFunc (``check``), what a
block reads and writes (``regions``), where elements lie in memory (``reshape``).
"""
