"""Public covariances under which the distances of one record weigh little, for the mechanism `field`."""
