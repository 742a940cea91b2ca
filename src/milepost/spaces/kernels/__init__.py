"""Public covariances in whose inverse the distances of one record have a small norm, for the mechanism `field`."""
