"""What is promised (guarantee), to whom (change), and how it is kept (noise, sparse vector)."""
