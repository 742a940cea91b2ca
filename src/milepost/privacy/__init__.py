"""What is promised (guarantee), to whom (protected change), how it is kept (noise), and what is spent (accounting)."""
