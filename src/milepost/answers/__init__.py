"""What a release answers: values and half-widths, columns, groups, sites, grids. No private data from here on."""
