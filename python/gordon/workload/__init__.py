"""Jobs of data-intensive clusters, their input data, and the nodes that they run on."""
