"""Models that others wrote, with random weights, imported and run beside PyTorch.

torchvision_models.py, timm_models.py, transformers_models.py   what there is, by name
trial.py     one model, in a process of its own: two roads in, two translations, generated C
run.py       all of them, one after the other; goes on where it was stopped; writes the page
"""
