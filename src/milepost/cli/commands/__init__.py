"""The commands, a module for each; `cli/command_group.py` lists them."""
